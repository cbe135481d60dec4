// See event_stream.h.
#include "tools/server/event_stream.h"

#include "tools/server/generation.h"

namespace krafla::server {
namespace {

constexpr std::chrono::seconds kQuiet{5};

}  // namespace

EventStream::EventStream(HttpReply* reply) : reply_(reply) {
  reply_->AddHeader("X-Accel-Buffering", "no");  // a proxy is not to collect it
  reply_->BeginStream(200, "text/event-stream; charset=utf-8");
}

void EventStream::Write(std::string_view text) {
  sent_ = Clock::now();
  if (!reply_->Write(text)) throw ClientLeft{};
}

void EventStream::Send(const Json& data) { Write("data: " + Dump(data) + "\n\n"); }

void EventStream::Send(std::string_view event, const Json& data) {
  Write(fmt::format("event: {}\ndata: {}\n\n", event, Dump(data)));
}

void EventStream::KeepAlive() {
  if (Clock::now() - sent_ >= kQuiet) Write(": the prompt is being read\n\n");
}

void EventStream::Done() {
  Write("data: [DONE]\n\n");
  End();
}

void EventStream::End() { reply_->EndStream(); }

void EventStream::Fail(const ApiError& error) {
  reply_->Write("data: " + Dump(error.Body()) + "\n\n");
  reply_->EndStream();
  reply_->CloseAfter();
}

}  // namespace krafla::server
