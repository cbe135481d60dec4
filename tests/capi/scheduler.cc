// Requests through the ABI: each gives what a session of its own would, in steps and on the
// scheduler's thread, polled by several threads.
#include <string>
#include <thread>

#include "krafla/krafla_batch.h"
#include "tests/capi/fixture.h"
#include "tests/support/catch.h"

namespace krafla::test {
namespace {

using SchedulerHandle =
    std::unique_ptr<krafla_scheduler, Deleter<krafla_scheduler, krafla_scheduler_free>>;
using RequestHandle = std::unique_ptr<krafla_request, Deleter<krafla_request, krafla_request_free>>;

struct Reply {
  std::string text;
  std::vector<int32_t> ids;
  std::vector<float> logprobs;
  krafla_event end = KRAFLA_EVENT_INIT;
  std::string message;
};

std::vector<int32_t> Prompt(int which) {
  std::vector<int32_t> ids = kPrompt;
  for (int i = 0; i < 3 + which % 4; ++i) ids.push_back(20 + 7 * which + i);
  return ids;
}

SamplerHandle MakeSampler(int which) {
  krafla_sampler_options options = KRAFLA_SAMPLER_OPTIONS_INIT;
  options.seed = static_cast<uint64_t>(which);
  options.has_seed = 1;
  krafla_sampler* raw = nullptr;
  REQUIRE(krafla_sampler_create(&raw, &options) == KRAFLA_OK);
  SamplerHandle sampler(raw);
  const krafla_param t = {"t", which % 2 == 0 ? 0.0 : 1.5};
  if (which % 3 == 2) {  // whose stage custom has no function
    REQUIRE(krafla_sampler_add_default(raw) == KRAFLA_OK);
    REQUIRE(krafla_sampler_set(raw, "temperature", "t", t.value) == KRAFLA_OK);
    return sampler;
  }
  REQUIRE(krafla_sampler_add(raw, "temperature", 11, &t, 1) == KRAFLA_OK);
  return sampler;
}

krafla_generate_options Options() {
  krafla_generate_options options = KRAFLA_GENERATE_OPTIONS_INIT;
  options.max_tokens = 24;
  options.logprobs = 1;
  return options;
}

Reply Alone(const krafla_model* model, int which) {
  SessionHandle session = MakeSession(model);
  const auto prompt = Prompt(which);
  REQUIRE(krafla_session_append(session.get(), prompt.data(), prompt.size(), nullptr) == KRAFLA_OK);
  Reply reply;
  krafla_generate_options options = Options();
  options.user = &reply;
  options.on_token = [](void* user, const krafla_token* token) {
    Reply& r = *static_cast<Reply*>(user);
    r.text.append(token->text, token->text_length);
    if (token->id < 0) return 0;
    r.ids.push_back(token->id);
    r.logprobs.push_back(token->logprob);
    return 0;
  };
  krafla_generate_result result = KRAFLA_GENERATE_RESULT_INIT;
  REQUIRE(krafla_session_generate(session.get(), MakeSampler(which).get(), &options, &result) ==
          KRAFLA_OK);
  reply.end.finish = result.finish;
  reply.end.n_tokens = result.n_tokens;
  return reply;
}

SchedulerHandle MakeScheduler(const krafla_model* model, bool own_thread) {
  krafla_scheduler_options options = KRAFLA_SCHEDULER_OPTIONS_INIT;
  options.context = 256;
  options.parallel = 3;
  options.own_thread = own_thread ? 1 : 0;
  krafla_scheduler* raw = nullptr;
  REQUIRE(krafla_scheduler_create(&raw, model, &options) == KRAFLA_OK);
  return SchedulerHandle(raw);
}

RequestHandle Add(krafla_scheduler* scheduler, int which) {
  const auto prompt = Prompt(which);
  const krafla_generate_options options = Options();
  SamplerHandle sampler = MakeSampler(which);
  krafla_request* raw = nullptr;
  const int32_t code = krafla_scheduler_add(&raw, scheduler, prompt.data(), prompt.size(),
                                            sampler.get(), &options, nullptr);
  return RequestHandle(code == KRAFLA_OK ? raw : nullptr);
}

Reply Collect(krafla_request* request) {
  Reply reply;
  krafla_event event = KRAFLA_EVENT_INIT;
  while (krafla_request_poll(request, &event, -1) == KRAFLA_OK) {
    if (event.kind == KRAFLA_EVENT_END) break;
    if (event.kind != KRAFLA_EVENT_TOKEN) continue;
    reply.text.append(event.text, event.text_length);
    if (event.id < 0) continue;
    reply.ids.push_back(event.id);
    reply.logprobs.push_back(event.logprob);
  }
  reply.message.assign(event.text, event.text_length);
  reply.end = event;
  return reply;
}

bool Same(const Reply& a, const Reply& b) {
  return a.text == b.text && a.ids == b.ids && a.logprobs == b.logprobs &&
         a.end.finish == b.end.finish && a.end.n_tokens == b.end.n_tokens;
}

}  // namespace

TEST_CASE("requests in steps give what sessions give") {
  ModelHandle model = OpenTiny();
  SchedulerHandle scheduler = MakeScheduler(model.get(), false);
  std::vector<RequestHandle> requests;
  for (int i = 0; i < 8; ++i) requests.push_back(Add(scheduler.get(), i));
  int32_t code = KRAFLA_PAUSED;
  for (int64_t i = 0; code == KRAFLA_PAUSED; ++i) {
    code = krafla_scheduler_step(scheduler.get(), i % 2);
  }
  REQUIRE(code == KRAFLA_OK);
  for (int i = 0; i < 8; ++i) {
    CHECK(Same(Collect(requests[static_cast<size_t>(i)].get()), Alone(model.get(), i)));
  }
  krafla_scheduler_info info{};
  info.struct_size = sizeof(info);
  REQUIRE(krafla_scheduler_get_info(scheduler.get(), &info) == KRAFLA_OK);
  CHECK(info.reused_tokens > 0);
  CHECK(info.cached > 0);
  CHECK(info.running == 0);
  krafla_request_info request{};
  request.struct_size = sizeof(request);
  REQUIRE(krafla_request_get_info(requests[7].get(), &request) == KRAFLA_OK);
  CHECK(request.reused >= static_cast<int64_t>(kPrompt.size()));
  CHECK(request.n_tokens <= 24);
}

TEST_CASE("requests on the scheduler's thread, from several threads of the host") {
  ModelHandle model = OpenTiny();
  std::vector<Reply> alone;
  for (int i = 0; i < 12; ++i) alone.push_back(Alone(model.get(), i));
  SchedulerHandle scheduler = MakeScheduler(model.get(), true);
  std::atomic<int> same{0};
  std::vector<std::thread> hosts;
  for (int host = 0; host < 3; ++host) {
    hosts.emplace_back([&, host] {
      for (int i = host; i < 12; i += 3) {
        RequestHandle request = Add(scheduler.get(), i);
        if (request == nullptr) continue;
        RequestHandle dropped = Add(scheduler.get(), i + 1);  // and freed at some point
        dropped.reset();
        same += Same(Collect(request.get()), alone[static_cast<size_t>(i)]) ? 1 : 0;
      }
    });
  }
  for (std::thread& host : hosts) host.join();
  CHECK(same == 12);
  CHECK(krafla_scheduler_step(scheduler.get(), 0) == KRAFLA_E_STATE);
}

TEST_CASE("a request is cancelled, outlives its scheduler, or only reads") {
  ModelHandle model = OpenTiny();
  SchedulerHandle scheduler = MakeScheduler(model.get(), false);
  RequestHandle first = Add(scheduler.get(), 1), second = Add(scheduler.get(), 2);
  krafla_event event = KRAFLA_EVENT_INIT;
  CHECK(krafla_request_poll(first.get(), &event, 0) == KRAFLA_PAUSED);
  REQUIRE(krafla_request_cancel(first.get()) == KRAFLA_OK);
  REQUIRE(krafla_scheduler_step(scheduler.get(), 0) == KRAFLA_PAUSED);
  const Reply cancelled = Collect(first.get());
  CHECK(cancelled.end.code == KRAFLA_E_CANCELLED);
  CHECK_FALSE(cancelled.message.empty());

  krafla_request* raw = nullptr;
  REQUIRE(krafla_scheduler_add(&raw, scheduler.get(), kPrompt.data(), kPrompt.size(), nullptr,
                               nullptr, nullptr) == KRAFLA_OK);
  RequestHandle reader(raw);
  REQUIRE(krafla_scheduler_step(scheduler.get(), -1) == KRAFLA_OK);
  const Reply read = Collect(reader.get());
  CHECK(read.end.code == KRAFLA_OK);
  CHECK(read.end.n_tokens == 0);

  RequestHandle last = Add(scheduler.get(), 3);
  scheduler.reset();
  CHECK(Collect(last.get()).end.code == KRAFLA_E_CANCELLED);
}

TEST_CASE("what a scheduler cannot do is refused by name") {
  ModelHandle model = OpenTiny();
  krafla_scheduler* raw = nullptr;
  krafla_scheduler_options options = KRAFLA_SCHEDULER_OPTIONS_INIT;
  options.parallel = -1;
  CHECK(krafla_scheduler_create(&raw, model.get(), &options) == KRAFLA_E_ARGUMENT);
  options.parallel = 8;
  options.rows = 8;
  CHECK(krafla_scheduler_create(&raw, model.get(), &options) == KRAFLA_E_ARGUMENT);
  options.rows = 0;
  options.kv = 77;
  CHECK(krafla_scheduler_create(&raw, model.get(), &options) == KRAFLA_E_ARGUMENT);
  SchedulerHandle scheduler = MakeScheduler(model.get(), false);
  SamplerHandle sampler = MakeSampler(1);
  krafla_request* request = nullptr;
  krafla_generate_options generate = KRAFLA_GENERATE_OPTIONS_INIT;
  const auto add = [&](size_t n) {
    return krafla_scheduler_add(&request, scheduler.get(), kPrompt.data(), n, sampler.get(),
                                &generate, nullptr);
  };
  CHECK(add(0) == KRAFLA_E_ARGUMENT);
  generate.on_token = [](void*, const krafla_token*) { return 0; };
  CHECK(add(3) == KRAFLA_E_ARGUMENT);
  generate.on_token = nullptr;
  const std::vector<int32_t> large(300, 5);
  CHECK(krafla_scheduler_add(&request, scheduler.get(), large.data(), large.size(), sampler.get(),
                             &generate, nullptr) == KRAFLA_E_CONTEXT);
  CHECK(krafla_scheduler_step(scheduler.get(), -1) == KRAFLA_OK);
  krafla_request_free(nullptr);
  krafla_scheduler_free(nullptr);
}

}  // namespace krafla::test
