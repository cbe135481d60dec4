// The terminal in raw mode while an object lives: keys come one by one, unechoed, Ctrl-C as a byte.
// One object at a time. Windows' console is never in it (TerminalHasEscapes).
#ifndef KRAFLA_TOOLS_RAW_MODE_H_
#define KRAFLA_TOOLS_RAW_MODE_H_

namespace krafla::tools {

class RawMode {
 public:
  RawMode();
  ~RawMode();
  RawMode(const RawMode&) = delete;
  RawMode& operator=(const RawMode&) = delete;

  bool active() const { return active_; }

 private:
  bool active_ = false;
};

// Stops the process as Ctrl-Z does, with a terminal that is not raw; raw again when it goes on.
void SuspendProcess();

// The next byte of the keyboard within the time, or -1 after it, at the end of input and after a
// signal.
int ReadKey(int timeout_ms);

struct TerminalSize {
  int columns;
  int rows;
};
TerminalSize GetTerminalSize();

// Cells that a terminal gives a code point, by the system's tables; -1 where it has none.
int SystemWidthOf(char32_t c);

}  // namespace krafla::tools

#endif  // KRAFLA_TOOLS_RAW_MODE_H_
