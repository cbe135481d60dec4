// generate MODEL.mlb SEED MAX_TOKENS: for each JSON schema, a line of stdin each, a reply of the
// model under it at temperature 1, eight at once; a line each, in order: {"error": TEXT} or
// {"text": TEXT, "finish": KRAFLA_FINISH_*}. For generated_schemas.py.
#include <deque>
#include <iostream>
#include <optional>
#include <string>

#include "krafla/krafla.hpp"

namespace {

constexpr std::string_view kPrompt =
    "<|im_start|>user\nAnswer with some JSON.<|im_end|>\n<|im_start|>assistant\n";

std::string Quoted(std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20) {
      out += std::string("\\u00") + kHex[byte >> 4] + kHex[byte & 15];
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out + "\"";
}

struct Job {
  std::string error;
  std::optional<krafla::Request> request;
};

void Finish(Job& job) {
  std::string text;
  krafla_event event = KRAFLA_EVENT_INIT;
  while (job.request && job.request->Poll(&event, -1)) {
    if (event.kind == KRAFLA_EVENT_END) break;
    if (event.kind == KRAFLA_EVENT_TOKEN) text.append(event.text, event.text_length);
  }
  if (event.code != KRAFLA_OK) job.error.assign(event.text, event.text_length);
  if (!job.error.empty()) {
    std::cout << "{\"error\":" << Quoted(job.error) << "}\n";
  } else {
    std::cout << "{\"text\":" << Quoted(text) << ",\"finish\":" << event.finish << "}\n";
  }
}

int Run(char** argv) {
  const krafla::Model model = krafla::Model::Open(argv[1]);
  const krafla::Tokenizer tokenizer(model);
  krafla_scheduler_options options = KRAFLA_SCHEDULER_OPTIONS_INIT;
  options.own_thread = 1;
  krafla::Scheduler scheduler(model, options);
  const std::vector<std::int32_t> prompt = tokenizer.Encode(kPrompt, KRAFLA_ENCODE_PARSE);
  krafla_generate_options generate = KRAFLA_GENERATE_OPTIONS_INIT;
  generate.max_tokens = std::stoll(argv[3]);
  std::uint64_t seed = std::stoull(argv[2]);
  std::deque<Job> jobs;
  for (std::string line; std::getline(std::cin, line);) {
    Job& job = jobs.emplace_back();
    try {
      const auto constraint = krafla::Constraint::JsonSchema(tokenizer, line);
      krafla::Sampler sampler(seed++);
      sampler.Add("temperature", {{"t", 1}});
      generate.constraint = constraint.get();
      job.request = scheduler.Add(prompt, &sampler, generate);
    } catch (const krafla::Error& error) {
      job.error = error.what();
    }
    while (jobs.size() > 16) {
      Finish(jobs.front());
      jobs.pop_front();
    }
  }
  for (Job& job : jobs) Finish(job);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  try {
    return Run(argv);
  } catch (const std::exception& error) {
    std::cerr << "generate: " << error.what() << "\n";
    return 1;
  }
}
