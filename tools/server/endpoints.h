// The handlers. Each answers through its call or throws ApiError.
#ifndef KRAFLA_TOOLS_SERVER_ENDPOINTS_H_
#define KRAFLA_TOOLS_SERVER_ENDPOINTS_H_

#include "tools/server/state.h"

namespace krafla::server {

void ChatCompletions(const Call& call);  // chat_completions.cc
void Completions(const Call& call);      // completions.cc
void Embeddings(const Call& call);       // embeddings.cc
void Responses(const Call& call);        // responses.cc

// about.cc
bool SendPageFile(const Call& call);  // false: the page has no such file
void Health(const Call& call);
void ListModels(const Call& call);
void ShowModel(const Call& call);
void Props(const Call& call);
void ShowMetrics(const Call& call);

// text.cc
void Tokenize(const Call& call);
void Detokenize(const Call& call);
void ApplyTemplate(const Call& call);

}  // namespace krafla::server

#endif  // KRAFLA_TOOLS_SERVER_ENDPOINTS_H_
