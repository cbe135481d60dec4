// What the launcher asks of the operating system.
#ifndef KRAFLA_TOOLS_LAUNCH_SYSTEM_H_
#define KRAFLA_TOOLS_LAUNCH_SYSTEM_H_

#include <stddef.h>

namespace krafla::launch {

// How the names of programs end here.
extern const char* const kProgramSuffix;

// The path of this program's own file, links resolved; false where it cannot be told or is longer
// than `size`.
bool OwnPath(char* path, size_t size);

bool IsProgram(const char* path);

// Becomes the program at `path`, with this one's arguments, or runs it and ends as it did. Returns
// only where it cannot be started, with the reason in errno's words.
const char* Become(const char* path, char** argv);

}  // namespace krafla::launch

#endif  // KRAFLA_TOOLS_LAUNCH_SYSTEM_H_
