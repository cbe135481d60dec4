// What the server says of itself: its state, its models, its counters.
#include <algorithm>

#include "tools/server/endpoints.h"
#include "tools/server/errors.h"
#include "tools/server/page/page.h"

namespace krafla::server {
namespace {

Json ModelJson(const ServedModel& model) {
  const krafla_model_info& info = model.info();
  return {{"id", model.name()},
          {"object", "model"},
          {"created", model.created()},
          {"owned_by", "krafla"},
          {"meta",
           {{"arch", info.arch},
            {"n_vocab", info.n_vocab},
            {"n_ctx", model.context()},
            {"n_ctx_train", info.max_context},
            {"n_embd", info.n_embd},
            {"size", info.weight_bytes},
            {"chat", model.has_template()}}}};
}

// Of models whose experts are read from the file.
std::string StreamMetrics(const State& state) {
  using Info = krafla_residency_info;
  struct Row {
    const char* name;
    const char* type;
    const char* help;
    double (*value)(const Info&);
  };
  constexpr Row kRows[] = {
      {"slots", "gauge", "Experts that memory has room for",
       [](const Info& i) { return double(i.slots); }},
      {"slot_bytes", "gauge", "Memory of these",
       [](const Info& i) { return double(i.slab_bytes); }},
      {"hits_total", "counter", "Experts wanted that were in memory",
       [](const Info& i) { return double(i.hits); }},
      {"misses_total", "counter", "Experts wanted that had to be read",
       [](const Info& i) { return double(i.misses); }},
      {"read_bytes_total", "counter", "Bytes of experts read",
       [](const Info& i) { return double(i.bytes_read); }},
      {"read_seconds_total", "counter", "Time in which experts were being read",
       [](const Info& i) { return double(i.read_ns) * 1e-9; }},
      {"stall_seconds_total", "counter", "Time in which a pass could only wait",
       [](const Info& i) { return double(i.stall_ns) * 1e-9; }},
      {"errors_total", "counter", "Experts that could not be read",
       [](const Info& i) { return double(i.errors); }},
  };
  std::string text;
  for (const Row& row : kRows) {
    std::string values;
    for (const auto& model : state.models) {
      if (const std::optional<Info> info = model->residency()) {
        values += fmt::format("krafla_expert_{}{{model=\"{}\"}} {}\n", row.name, model->name(),
                              row.value(*info));
      }
    }
    if (values.empty()) continue;
    text += fmt::format("# HELP krafla_expert_{0} {1}\n# TYPE krafla_expert_{0} {2}\n", row.name,
                        row.help, row.type) +
            values;
  }
  return text;
}

}  // namespace

bool SendPageFile(const Call& call) {
  const tools::PageFile* file = tools::FindPageFile(call.request.path);
  if (file == nullptr) return false;
  for (const tools::PageHeader& header : tools::kPageHeaders) {
    call.reply.AddHeader(header.name, header.value);
  }
  call.reply.AddHeader("ETag", std::string(file->etag));
  const bool known = call.request.Header("if-none-match") == file->etag;
  call.reply.Send(known ? 304 : 200, file->type, known ? std::string_view() : file->content);
  return true;
}

void Health(const Call& call) {
  if (call.state.ready.load()) return call.SendJson({{"status", "ok"}});
  const uint64_t total = call.state.total_bytes.load();
  const uint64_t done = call.state.loaded_bytes.load();
  ApiError error(503, "loading", "the model is being loaded");
  error.extra = {
      {"progress", total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 0.0}};
  Json body = error.Body();
  body["status"] = "loading";
  call.reply.AddHeader("Retry-After", "1");
  call.SendJson(body, 503);
}

void ListModels(const Call& call) {
  Json list = {{"object", "list"}, {"data", Json::array()}};
  for (const auto& model : call.state.models) list["data"].push_back(ModelJson(*model));
  call.SendJson(list);
}

void ShowModel(const Call& call) {
  const std::string name = call.request.path.substr(std::string_view("/v1/models/").size());
  call.SendJson(ModelJson(call.FindModel({{"model", name}})));
}

void Props(const Call& call) {
  const ServedModel& model = *call.state.models.front();
  Json list = Json::array();
  for (const auto& served : call.state.models) list.push_back(ModelJson(*served));
  const uint32_t version = krafla_version();
  call.SendJson({{"build_info", fmt::format("krafla {}.{}.{} ({})", version >> 16,
                                            version >> 8 & 0xff, version & 0xff, krafla_isa())},
                 {"isa", krafla_isa()},
                 {"arithmetic", krafla_arithmetic()},
                 {"model", model.name()},
                 {"system_fingerprint", model.fingerprint()},
                 {"total_slots", call.state.parallel},
                 {"default_generation_settings", {{"n_ctx", model.context()}, {"temperature", 1}}},
                 {"modalities", {{"vision", false}, {"audio", false}}},
                 {"models", list}});
}

void ShowMetrics(const Call& call) {
  std::string text = call.state.metrics.Text() + call.state.connection_metrics();
  struct Row {
    const char* name;
    const char* type;
    const char* help;
    double (*value)(const krafla_scheduler_info&);
  };
  constexpr Row kRows[] = {
      {"running", "gauge", "Requests at work", [](const auto& i) { return double(i.running); }},
      {"waiting", "gauge", "Requests that wait", [](const auto& i) { return double(i.waiting); }},
      {"passes_total", "counter", "Passes over the weights",
       [](const auto& i) { return double(i.passes); }},
      {"cache_bytes", "gauge", "Memory of texts that are kept",
       [](const auto& i) { return double(i.cache_bytes); }},
      {"cached_texts", "gauge", "Texts that are kept",
       [](const auto& i) { return double(i.cached); }},
      {"cache_dir_bytes", "gauge", "Size of the texts in --cache-dir",
       [](const auto& i) { return double(i.folder_bytes); }},
  };
  for (const Row& row : kRows) {
    text +=
        fmt::format("# HELP krafla_{0} {1}\n# TYPE krafla_{0} {2}\n", row.name, row.help, row.type);
    for (const auto& model : call.state.models) {
      text += fmt::format("krafla_{}{{model=\"{}\"}} {}\n", row.name, model->name(),
                          row.value(model->load()));
    }
  }
  text += StreamMetrics(call.state);
  call.reply.Send(200, "text/plain; version=0.0.4; charset=utf-8", text);
}

}  // namespace krafla::server
