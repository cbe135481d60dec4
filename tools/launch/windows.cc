// The launcher's own path and its successor, on Windows, where no process can become another: the
// build runs as a child with the same command line, streams and console, and its exit code is ours.
// Both get Ctrl-C; only the build answers. A job object ends the build if the launcher is ended.
#include <windows.h>

#include "tools/launch/system.h"

namespace krafla::launch {
namespace {

constexpr DWORD kUnits = 8192;

// The path made whole ("..") and, where it is long, fit for the wide functions.
bool Widen(const char* path, wchar_t* wide) {
  static wchar_t given[kUnits];
  static constexpr wchar_t kPrefix[] = L"\\\\?\\";
  constexpr DWORD kPrefixUnits = 4;
  if (MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, given, kUnits) == 0)
    return false;
  const DWORD length = GetFullPathNameW(given, kUnits - kPrefixUnits, wide, nullptr);
  if (length == 0 || length >= kUnits - kPrefixUnits) return false;
  if (length < MAX_PATH || wide[0] == L'\\') return true;
  for (DWORD i = length + 1; i-- > 0;) wide[i + kPrefixUnits] = wide[i];
  for (DWORD i = 0; i < kPrefixUnits; ++i) wide[i] = kPrefix[i];
  return true;
}

const char* Reason() {
  static char text[256];
  const DWORD length = FormatMessageA(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS,
                                      nullptr, GetLastError(), 0, text, sizeof(text), nullptr);
  for (DWORD i = length; i-- > 0 && (text[i] <= ' ' || text[i] == '.');) text[i] = 0;
  return length != 0 ? text : "an unknown error";
}

BOOL WINAPI LeaveToTheBuild(DWORD type) { return type == CTRL_C_EVENT || type == CTRL_BREAK_EVENT; }

HANDLE JobThatEndsWithUs() {
  const HANDLE job = CreateJobObjectW(nullptr, nullptr);
  JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits{};
  limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
  if (job != nullptr) {
    SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limits, sizeof(limits));
  }
  return job;
}

}  // namespace

const char* const kProgramSuffix = ".exe";

bool OwnPath(char* path, size_t size) {
  static wchar_t wide[kUnits];
  const DWORD length = GetModuleFileNameW(nullptr, wide, kUnits);
  return length != 0 && length < kUnits &&
         WideCharToMultiByte(CP_UTF8, 0, wide, -1, path, static_cast<int>(size), nullptr,
                             nullptr) != 0;
}

bool IsProgram(const char* path) {
  static wchar_t wide[kUnits];
  if (!Widen(path, wide)) return false;
  const DWORD attributes = GetFileAttributesW(wide);
  return attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY) == 0;
}

const char* Become(const char* path, char**) {
  static wchar_t wide[kUnits];
  if (!Widen(path, wide)) return "its path is too long";
  STARTUPINFOW startup{};
  startup.cb = sizeof(startup);
  startup.dwFlags = STARTF_USESTDHANDLES;
  startup.hStdInput = GetStdHandle(STD_INPUT_HANDLE);
  startup.hStdOutput = GetStdHandle(STD_OUTPUT_HANDLE);
  startup.hStdError = GetStdHandle(STD_ERROR_HANDLE);
  PROCESS_INFORMATION build{};
  SetConsoleCtrlHandler(LeaveToTheBuild, TRUE);
  if (CreateProcessW(wide, GetCommandLineW(), nullptr, nullptr, TRUE, CREATE_SUSPENDED, nullptr,
                     nullptr, &startup, &build) == 0) {
    return Reason();
  }
  if (const HANDLE job = JobThatEndsWithUs()) AssignProcessToJobObject(job, build.hProcess);
  ResumeThread(build.hThread);
  WaitForSingleObject(build.hProcess, INFINITE);
  DWORD code = 1;
  GetExitCodeProcess(build.hProcess, &code);
  ExitProcess(code);
}

}  // namespace krafla::launch
