// For safetensors_oracle.py: reads names of files from stdin and prints 1 or 0 and the message for
// each.
#include <cstdio>
#include <iostream>
#include <string>

#include "lib/convert/safetensors.h"

int main() {
  using namespace krafla;  // NOLINT: one function
  for (std::string name; std::getline(std::cin, name);) {
    Checkpoint checkpoint;
    auto source = OpenForReading(name);
    if (!source.ok()) return 1;
    Status status = AddSafetensors(*std::move(source), &checkpoint);
    if (status.ok()) status = checkpoint.Finish();
    std::printf("%d %s\n", status.ok() ? 1 : 0, std::string(Message(status)).c_str());
  }
}
