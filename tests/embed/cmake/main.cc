// The C ABI from C++ without exceptions and RTTI: prints the version, and the message of a failure.
#include <krafla/krafla.h>

#include <cstdio>
#include <cstring>

int main() {
  const unsigned version = krafla_version();
  std::printf("%u.%u.%u\n", version >> 16, version >> 8 & 255, version & 255);
  krafla_model* model = nullptr;
  const char* path = "no such model";
  if (krafla_model_open_path(&model, nullptr, path, std::strlen(path), nullptr) == KRAFLA_OK) {
    return 1;
  }
  std::printf("%s\n", krafla_error_message());
  return 0;
}
