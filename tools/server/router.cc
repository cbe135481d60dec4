// See router.h.
#include "tools/server/router.h"

#include <algorithm>
#include <new>

#include "tools/server/endpoints.h"
#include "tools/server/errors.h"
#include "tools/server/fields.h"
#include "tools/server/generation.h"

namespace krafla::server {
namespace {

struct Endpoint {
  const char* path;  // a / at its end: with a name behind it
  const char* method;
  void (*handler)(const Call&);
  bool open = false;          // no key is asked for
  bool before_ready = false;  // also while models are loaded
};

constexpr Endpoint kEndpoints[] = {
    {"/health", "GET", Health, true, true},
    {"/v1/health", "GET", Health, true, true},
    {"/v1/models", "GET", ListModels},
    {"/models", "GET", ListModels},
    {"/v1/models/", "GET", ShowModel},
    {"/props", "GET", Props},
    {"/metrics", "GET", ShowMetrics},
    {"/v1/chat/completions", "POST", ChatCompletions},
    {"/chat/completions", "POST", ChatCompletions},
    {"/v1/completions", "POST", Completions},
    {"/v1/embeddings", "POST", Embeddings},
    {"/v1/responses", "POST", Responses},
    {"/tokenize", "POST", Tokenize},
    {"/detokenize", "POST", Detokenize},
    {"/apply-template", "POST", ApplyTemplate},
};

bool Matches(const Endpoint& endpoint, const std::string& path) {
  const std::string_view pattern = endpoint.path;
  if (pattern.size() > 1 && pattern.ends_with('/')) {
    return path.size() > pattern.size() && path.starts_with(pattern);
  }
  return path == pattern;
}

// Origin and Host; adds what a listed origin's browser needs.
void CheckOrigin(const State& state, const HttpRequest& request, HttpReply& reply) {
  const std::string_view host = request.Header("host");
  if (request.HasHeader("host") && !HostAllowed(state.access, host)) {
    throw ApiError(403, "host_not_allowed",
                   fmt::format("Host: got {}, want an address, localhost, or a name that "
                               "--allow-host lists",
                               Show(Json(std::string(host)))));
  }
  if (!request.HasHeader("origin")) return;
  const std::string_view origin = request.Header("origin");
  if (OriginListed(state.access, origin)) {
    reply.AddHeader("Access-Control-Allow-Origin", std::string(origin));
    reply.AddHeader("Vary", "Origin");
    return;
  }
  if (OriginIsOwn(origin, host)) return;
  throw ApiError(403, "origin_not_allowed",
                 fmt::format("Origin: got {}, want one that --allow-origin lists",
                             Show(Json(std::string(origin)))));
}

const Endpoint* Find(const HttpRequest& request, std::string* allowed) {
  const std::string method = request.method == "HEAD" ? "GET" : request.method;
  for (const Endpoint& endpoint : kEndpoints) {
    if (!Matches(endpoint, request.path)) continue;
    if (method == endpoint.method) return &endpoint;
    *allowed = endpoint.method;
  }
  return nullptr;
}

// An origin that may ask at all may send any header: OpenAI's own client has some for each release.
void Preflight(const std::string& allowed, const HttpRequest& request, HttpReply& reply) {
  reply.AddHeader("Allow", allowed + ", OPTIONS");
  reply.AddHeader("Access-Control-Allow-Methods", allowed + ", OPTIONS");
  const std::string_view asked = request.Header("access-control-request-headers");
  reply.AddHeader("Access-Control-Allow-Headers",
                  asked.empty() ? "Authorization, Content-Type, X-API-Key" : std::string(asked));
  reply.AddHeader("Access-Control-Max-Age", "600");
  reply.Send(204, {}, {});
}

void Dispatch(const Call& call, std::string* path) {
  CheckOrigin(call.state, call.request, call.reply);
  std::string allowed;
  const Endpoint* endpoint = Find(call.request, &allowed);
  if (endpoint == nullptr && allowed.empty()) {
    const bool read = call.request.method == "GET" || call.request.method == "HEAD";
    if (read && SendPageFile(call)) return;
    throw NotFound(fmt::format("no such endpoint: {}", Show(Json(call.request.path))));
  }
  if (call.request.method == "OPTIONS") return Preflight(allowed, call.request, call.reply);
  if (endpoint == nullptr) {
    call.reply.AddHeader("Allow", allowed + ", OPTIONS");
    throw ApiError(405, "method_not_allowed",
                   fmt::format("got {}, want {}", call.request.method, allowed));
  }
  *path = endpoint->path;
  call.reply.AddHeader("X-Content-Type-Options", "nosniff");
  call.reply.AddHeader("Cache-Control", "no-store");
  if (!endpoint->open && !call.state.access.keys.empty() &&
      !KeyGiven(call.state.access, call.request)) {
    call.reply.AddHeader("WWW-Authenticate", "Bearer");
    throw ApiError(401, "invalid_api_key", "want a valid key: Authorization: Bearer KEY");
  }
  if (!endpoint->before_ready && !call.state.ready.load()) return Health(call);
  endpoint->handler(call);
}

void SendError(const Call& call, const ApiError& error) {
  if (call.reply.begun()) return call.reply.CloseAfter();  // too late
  if (error.status() == 429 || error.status() == 503) call.reply.AddHeader("Retry-After", "1");
  call.SendJson(error.Body(), error.status());
}

}  // namespace

std::string TransportErrorBody(const HttpError& error) {
  return Dump(ApiError(error.status, "http_error", error.message).Body());
}

void Route(State& state, const HttpRequest& request, HttpReply& reply) {
  const Clock::time_point began = Clock::now();
  ++state.metrics.in_flight;
  const Call call{state, request, reply};
  std::string path = "other";
  try {
    Dispatch(call, &path);
  } catch (const ApiError& error) {
    SendError(call, error);
  } catch (const ClientLeft&) {
    state.metrics.ClientLeft();
    reply.CloseAfter();
    if (!reply.begun()) reply.Send(499, {}, {});
  } catch (const Error& error) {
    SendError(call, FromLibrary(error));
  } catch (const std::bad_alloc&) {
    SendError(call, ApiError(503, "out_of_memory", "out of memory"));
  } catch (const std::exception& error) {
    SendError(call, ApiError(500, "internal_error", error.what()));
  }
  --state.metrics.in_flight;
  const std::chrono::duration<double> took = Clock::now() - began;
  state.metrics.Answered(path, reply.status(), took.count());
}

}  // namespace krafla::server
