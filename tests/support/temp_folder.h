// A folder of its own for one test, removed with all it holds.
#ifndef KRAFLA_TESTS_SUPPORT_TEMP_FOLDER_H_
#define KRAFLA_TESTS_SUPPORT_TEMP_FOLDER_H_

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>

namespace krafla {

class TempFolder {
 public:
  TempFolder() {
    std::random_device random;
    std::error_code error;
    for (int i = 0; i < 100 && path_.empty(); ++i) {
      const std::filesystem::path name =
          std::filesystem::temp_directory_path(error) / ("krafla-test-" + std::to_string(random()));
      if (std::filesystem::create_directory(name, error)) path_ = name.string();
    }
  }
  ~TempFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Of UTF-8, which on Windows is not what a plain string means.
inline std::filesystem::path PathOf(const std::string& utf8) {
  return std::u8string(utf8.begin(), utf8.end());
}

inline std::string ReadWholeFile(const std::string& path) {
  std::ifstream in(PathOf(path), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void WriteWholeFile(const std::string& path, std::string_view bytes) {
  std::ofstream out(PathOf(path), std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace krafla

#endif  // KRAFLA_TESTS_SUPPORT_TEMP_FOLDER_H_
