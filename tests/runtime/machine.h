// A machine laid out as a folder of the files in which Linux describes it.
#ifndef KRAFLA_TESTS_RUNTIME_MACHINE_H_
#define KRAFLA_TESTS_RUNTIME_MACHINE_H_

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/temp_folder.h"

namespace krafla {

class Machine {
 public:
  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << "\n";
  }
  void Cpu(int cpu, const std::string& file, const std::string& text) {
    Write("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/" + file, text);
  }
  const std::string& root() const { return folder_.path(); }

 private:
  TempFolder folder_;
};

}  // namespace krafla

#endif  // KRAFLA_TESTS_RUNTIME_MACHINE_H_
