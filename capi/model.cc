// krafla_model_* and krafla_plan_*. What getters hand out as C strings and arrays (metadata as
// text, tensor names, end ids) is made once at opening, so that they allocate nothing and live as
// long as the model.
#include "capi/guard.h"
#include "capi/handles.h"
#include "capi/residency.h"
#include "capi/structs.h"
#include "lib/file/mlb.h"
#include "lib/file/source.h"
#include "lib/weights/load.h"

using namespace krafla;  // NOLINT: the definitions below are the global C functions
using capi::Guard;

namespace {

std::string Text(const std::string& value) { return value; }

template <typename T>
std::string Text(const T& value) {
  return FormatText("{}", value);
}

template <typename T>
std::string Text(const std::vector<T>& values) {
  std::string text = "[";
  for (const T& value : values) text += (text.size() > 1 ? ", " : "") + Text(value);
  return text + "]";
}

std::string MetaText(const MetaValue& value) {
  return std::visit([](const auto& v) { return Text(v); }, value);
}

StatusOr<std::shared_ptr<Runtime>> RuntimeOf(krafla_runtime* runtime) {
  if (runtime != nullptr) return runtime->runtime;
  return Runtime::Create(RuntimeOptions{});
}

Status OpenSource(krafla_model** out, const std::shared_ptr<Runtime>& owner,
                  std::unique_ptr<FileSource> source, const krafla_model_options& options) {
  KRAFLA_ASSIGN_OR_RETURN(std::unique_ptr<MlbFile> file, MlbFile::Open(std::move(source)));
  KRAFLA_ASSIGN_OR_RETURN(const std::optional<ResidencyOptions> stream,
                          capi::ToResidencyOptions(options));
  auto shared = std::make_shared<capi::SharedModel>();
  KRAFLA_ASSIGN_OR_RETURN(shared->model, Model::Open(owner, std::move(file), options.progress,
                                                     options.user, stream ? &*stream : nullptr));
  const bool in_place = shared->model->file().source().data() != nullptr;
  owner->Log(LogLevel::kInfo,
             FormatText("model: {}: {}, {} bytes of weights {}, {} threads, {}",
                        shared->model->file().source().name(), shared->model->config().arch,
                        shared->model->weight_bytes(), in_place ? "in place" : "read",
                        owner->threads().size(), krafla_isa()));
  for (const MetaEntry& entry : shared->model->file().metadata()) {
    shared->metadata.emplace_back(entry.key, MetaText(entry.value));
  }
  for (const int64_t id : shared->model->config().end_ids) {
    shared->end_ids.push_back(static_cast<int32_t>(id));
  }
  for (const MlbTensor& tensor : shared->model->file().tensors()) {
    shared->tensor_names.emplace_back(tensor.name);
  }
  *out = new krafla_model{std::move(shared)};
  return OkStatus();
}

StatusOr<Load> ToLoad(int32_t load) {
  switch (load) {
    case KRAFLA_LOAD_MAP:
      return Load::kMap;
    case KRAFLA_LOAD_READ:
      return Load::kRead;
    case KRAFLA_LOAD_AUTO:
      return Load::kAuto;
    default:
      return ArgumentError(
          "krafla_model_options: load: got {}, want KRAFLA_LOAD_MAP (0) to KRAFLA_LOAD_AUTO (2)",
          load);
  }
}

// Weights beside experts that are streamed are read: mapped pages count against a limit too.
StatusOr<Load> LoadOf(const krafla_model_options& options) {
  return options.residency != nullptr ? Load::kRead : ToLoad(options.load);
}

StatusOr<std::unique_ptr<FileSource>> SourceOf(std::string_view path,
                                               const krafla_model_options& options,
                                               const Memory& memory) {
  KRAFLA_ASSIGN_OR_RETURN(const Load wanted, LoadOf(options));
  KRAFLA_ASSIGN_OR_RETURN(std::unique_ptr<FileSource> source, OpenForReading(path));
  return IsMapped(wanted, source->size(), memory) ? OpenMapped(path) : std::move(source);
}

StatusOr<SessionOptions> SessionOptionsOf(const krafla_session_options* options) {
  krafla_session_options given;
  KRAFLA_RETURN_IF_ERROR(capi::ReadOptions(options, "krafla_session_options", &given));
  return capi::ToSessionOptions(given);
}

krafla_plan MakePlan(const SessionPlan& session, const MlbFile& file) {
  const bool mapped = file.source().data() != nullptr;
  krafla_plan plan{};
  plan.weights_mapped = mapped ? file.source().size() : 0;
  plan.weights_read = mapped ? 0 : Weights::ReadBytes(file);
  plan.kv = session.kv;
  plan.state = session.state;
  plan.scratch = session.scratch;
  return plan;
}

void AddResidency(const ResidencyPlan& residency, krafla_plan* plan) {
  plan->weights_read = residency.dense_bytes + residency.slab_bytes;
  plan->expert_slots = residency.slots;
  plan->experts = residency.experts;
  plan->least_budget = residency.least;
}

void WritePlan(krafla_plan filled, krafla_plan* plan) {
  filled.total = filled.weights_read + filled.kv + filled.state + filled.scratch;
  capi::WriteInfo(filled, plan);
}

}  // namespace

namespace krafla::capi {

StatusOr<std::shared_ptr<const Tokenizer>> SharedModel::tokenizer() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (tokenizer_ == nullptr) {
    if (model->tokenizer_table().empty()) {
      return NotFoundError("tokenizer: {} carries none", model->file().source().name());
    }
    KRAFLA_ASSIGN_OR_RETURN(tokenizer_, Tokenizer::Open(model->tokenizer_table()));
  }
  return tokenizer_;
}

StatusOr<KvType> ToKvType(int32_t kv) {
  switch (kv) {
    case KRAFLA_KV_F16:
      return KvType::kF16;
    case KRAFLA_KV_F32:
      return KvType::kF32;
    case KRAFLA_KV_Q8:
      return KvType::kQ8;
    case KRAFLA_KV_K8V4:
      return KvType::kK8V4;
    case KRAFLA_KV_K6V6:
      return KvType::kK6V6;
    case KRAFLA_KV_K4V4:
      return KvType::kK4V4;
    default:
      return ArgumentError("kv: got {}, want KRAFLA_KV_F16 (0) to KRAFLA_KV_K4V4 (5)", kv);
  }
}

StatusOr<SessionOptions> ToSessionOptions(const krafla_session_options& given) {
  SessionOptions options;
  if (given.context < 0) return ArgumentError("context: got {}, want 0 or more", given.context);
  if (given.batch < 0) return ArgumentError("batch: got {}, want 0 or more", given.batch);
  if (given.has_reserve != 0 && given.reserve < 0) {
    return ArgumentError("reserve: got {}, want 0 or more", given.reserve);
  }
  KRAFLA_ASSIGN_OR_RETURN(options.kv, ToKvType(given.kv));
  options.context = given.context;
  options.batch = given.batch;
  if (given.has_reserve != 0) options.reserve = given.reserve;
  return options;
}

}  // namespace krafla::capi

extern "C" {

int32_t krafla_model_open_path(krafla_model** out, krafla_runtime* runtime, const char* path,
                               size_t path_length, const krafla_model_options* options) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(out);
    KRAFLA_RETURN_IF_ERROR(capi::CheckCpu());
    KRAFLA_ASSIGN_OR_RETURN(std::string_view name, capi::ReadString(path, path_length, "path"));
    krafla_model_options given;
    KRAFLA_RETURN_IF_ERROR(capi::ReadOptions(options, "krafla_model_options", &given));
    KRAFLA_ASSIGN_OR_RETURN(const std::shared_ptr<Runtime> owner, RuntimeOf(runtime));
    KRAFLA_ASSIGN_OR_RETURN(std::unique_ptr<FileSource> source,
                            SourceOf(name, given, owner->memory()));
    return OpenSource(out, owner, std::move(source), given);
  });
}

int32_t krafla_model_open_fd(krafla_model** out, krafla_runtime* runtime, int32_t fd,
                             uint64_t offset, uint64_t size, const krafla_model_options* options) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(out);
    KRAFLA_RETURN_IF_ERROR(capi::CheckCpu());
    krafla_model_options given;
    KRAFLA_RETURN_IF_ERROR(capi::ReadOptions(options, "krafla_model_options", &given));
    KRAFLA_ASSIGN_OR_RETURN(const Load load, LoadOf(given));
    KRAFLA_ASSIGN_OR_RETURN(const std::shared_ptr<Runtime> owner, RuntimeOf(runtime));
    KRAFLA_ASSIGN_OR_RETURN(std::unique_ptr<FileSource> source,
                            OpenDescriptor(fd, offset, size, false));
    if (IsMapped(load, source->size(), owner->memory())) {
      KRAFLA_ASSIGN_OR_RETURN(source, OpenDescriptor(fd, offset, size, true));
    }
    return OpenSource(out, owner, std::move(source), given);
  });
}

int32_t krafla_model_open_memory(krafla_model** out, krafla_runtime* runtime, const void* data,
                                 size_t size, const krafla_model_options* options) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(out);
    KRAFLA_CHECK_POINTER(data);
    KRAFLA_RETURN_IF_ERROR(capi::CheckCpu());
    krafla_model_options given;
    KRAFLA_RETURN_IF_ERROR(capi::ReadOptions(options, "krafla_model_options", &given));
    KRAFLA_ASSIGN_OR_RETURN(const std::shared_ptr<Runtime> owner, RuntimeOf(runtime));
    return OpenSource(out, owner, OpenMemory(data, size), given);
  });
}

int32_t krafla_model_open_reader(krafla_model** out, krafla_runtime* runtime,
                                 const krafla_reader* reader, const krafla_model_options* options) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(out);
    KRAFLA_CHECK_POINTER(reader);
    KRAFLA_RETURN_IF_ERROR(capi::CheckCpu());
    krafla_reader host;
    KRAFLA_RETURN_IF_ERROR(capi::ReadOptions(reader, "krafla_reader", &host));
    if (host.read == nullptr) {
      return ArgumentError("krafla_reader: read: got NULL, want a function");
    }
    krafla_model_options given;
    KRAFLA_RETURN_IF_ERROR(capi::ReadOptions(options, "krafla_model_options", &given));
    KRAFLA_ASSIGN_OR_RETURN(const std::shared_ptr<Runtime> owner, RuntimeOf(runtime));
    return OpenSource(out, owner, OpenCallback(host.read, host.user, host.size), given);
  });
}

void krafla_model_free(krafla_model* model) { delete model; }

int32_t krafla_model_get_info(const krafla_model* model, krafla_model_info* info) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(model);
    KRAFLA_RETURN_IF_ERROR(capi::CheckInfo(info, "krafla_model_info"));
    const Model& inner = *model->shared->model;
    const Config& config = inner.config();
    krafla_model_info filled{};
    filled.arch = config.arch.c_str();
    filled.name = config.name.c_str();
    filled.n_vocab = static_cast<int32_t>(config.n_vocab);
    filled.n_layers = static_cast<int32_t>(config.n_layers);
    filled.n_embd = static_cast<int32_t>(config.n_embd);
    filled.n_heads = static_cast<int32_t>(config.n_heads);
    filled.n_kv_heads = static_cast<int32_t>(config.n_kv_heads);
    filled.head_dim = static_cast<int32_t>(config.head_dim);
    filled.has_tokenizer = inner.tokenizer_table().empty() ? 0 : 1;
    filled.has_template = inner.chat_template().empty() ? 0 : 1;
    filled.max_context = config.max_positions;
    filled.weight_bytes = inner.weight_bytes();
    filled.bytes_per_token = inner.bytes_per_token();
    filled.macs_per_token = inner.macs_per_token();
    filled.file_hash = inner.file().content_hash();
    capi::WriteInfo(filled, info);
    return OkStatus();
  });
}

int32_t krafla_model_get_end_ids(const krafla_model* model, const int32_t** ids, size_t* n) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(model);
    KRAFLA_CHECK_POINTER(ids);
    KRAFLA_CHECK_POINTER(n);
    *ids = model->shared->end_ids.data();
    *n = model->shared->end_ids.size();
    return OkStatus();
  });
}

int32_t krafla_model_get_metadata(const krafla_model* model, size_t i, const char** key,
                                  const char** value, size_t* n) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(model);
    const auto& metadata = model->shared->metadata;
    if (n != nullptr) *n = metadata.size();
    if (i >= metadata.size()) return NotFoundError("metadata: entry {} of {}", i, metadata.size());
    if (key != nullptr) *key = metadata[i].first.c_str();
    if (value != nullptr) *value = metadata[i].second.c_str();
    return OkStatus();
  });
}

int32_t krafla_model_get_tensor(const krafla_model* model, size_t i, krafla_tensor_info* info,
                                size_t* n) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(model);
    KRAFLA_RETURN_IF_ERROR(capi::CheckInfo(info, "krafla_tensor_info"));
    const std::span<const MlbTensor> tensors = model->shared->model->file().tensors();
    if (n != nullptr) *n = tensors.size();
    if (i >= tensors.size()) return NotFoundError("tensor: entry {} of {}", i, tensors.size());
    KRAFLA_ASSIGN_OR_RETURN(const Format format, FormatFromId(tensors[i].type));
    krafla_tensor_info filled{};
    filled.name = model->shared->tensor_names[i].c_str();
    filled.format = FormatName(format).data();
    for (size_t d = 0; d < 4; ++d) filled.dims[d] = tensors[i].dims[d];
    filled.bytes = tensors[i].bytes;
    capi::WriteInfo(filled, info);
    return OkStatus();
  });
}

int32_t krafla_plan_path(krafla_plan* plan, const char* path, size_t path_length,
                         const krafla_model_options* model_options,
                         const krafla_session_options* session_options) {
  return Guard([&]() -> Status {
    KRAFLA_RETURN_IF_ERROR(capi::CheckInfo(plan, "krafla_plan"));
    KRAFLA_ASSIGN_OR_RETURN(std::string_view name, capi::ReadString(path, path_length, "path"));
    krafla_model_options given;
    KRAFLA_RETURN_IF_ERROR(capi::ReadOptions(model_options, "krafla_model_options", &given));
    KRAFLA_ASSIGN_OR_RETURN(SessionOptions options, SessionOptionsOf(session_options));
    KRAFLA_ASSIGN_OR_RETURN(std::unique_ptr<FileSource> source,
                            SourceOf(name, given, Memory({}, kNoBudget)));
    KRAFLA_ASSIGN_OR_RETURN(std::unique_ptr<MlbFile> file, MlbFile::Open(std::move(source)));
    KRAFLA_ASSIGN_OR_RETURN(const Config config, ConfigFromMetadata(*file));
    KRAFLA_ASSIGN_OR_RETURN(const std::optional<ResidencyOptions> stream,
                            capi::ToResidencyOptions(given));
    std::optional<ResidencyPlan> residency;
    if (stream) {
      residency = PlanResidency(file->tensors(), ExpertLayout(file->tensors()),
                                static_cast<size_t>(config.n_experts_used), stream->budget);
      options.slab_bytes = residency->slab_bytes;
    }
    KRAFLA_ASSIGN_OR_RETURN(const SessionPlan session,
                            PlanSession(config, options, static_cast<size_t>(DefaultThreads())));
    krafla_plan filled = MakePlan(session, *file);
    if (residency) AddResidency(*residency, &filled);
    WritePlan(filled, plan);
    return OkStatus();
  });
}

int32_t krafla_plan_session(krafla_plan* plan, const krafla_model* model,
                            const krafla_session_options* session_options) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(model);
    KRAFLA_RETURN_IF_ERROR(capi::CheckInfo(plan, "krafla_plan"));
    KRAFLA_ASSIGN_OR_RETURN(SessionOptions options, SessionOptionsOf(session_options));
    const Model& inner = *model->shared->model;
    const Residency* residency = inner.residency();
    if (residency != nullptr) options.slab_bytes = residency->info().slab_bytes;
    KRAFLA_ASSIGN_OR_RETURN(
        const SessionPlan session,
        PlanSession(inner.config(), options, inner.runtime()->threads().size()));
    krafla_plan filled = MakePlan(session, inner.file());
    if (residency != nullptr) {
      AddResidency(PlanResidency(inner.file().tensors(), residency->layout(),
                                 static_cast<size_t>(inner.config().n_experts_used),
                                 residency->info().budget),
                   &filled);
    }
    WritePlan(filled, plan);
    return OkStatus();
  });
}

}  // extern "C"
