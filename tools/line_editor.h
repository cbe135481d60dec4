// A small line editor for the chat: cursor keys, history, paste of several lines, wide characters.
// It draws on stderr, since stdout belongs to the model's words. Where the terminal can do nothing
// (TERM=dumb) or there is none, it reads plain lines.
#ifndef KRAFLA_TOOLS_LINE_EDITOR_H_
#define KRAFLA_TOOLS_LINE_EDITOR_H_

#include <string>
#include <string_view>
#include <vector>

#include "tools/output.h"

namespace krafla::tools {

class LineEditor {
 public:
  LineEditor();

  // kInterrupted: Ctrl-C; *line is then what had been written.
  LineEnd Read(std::string_view prompt, std::string* line);

 private:
  LineEnd Edit(std::string* line);
  // What one key does to the line.
  enum class Effect { kEdited, kSubmit, kEndOfInput, kInterrupt };
  Effect OnKey(char key);
  void OnEscape();
  void OnSequence(std::string_view parameters, char final);
  void Paste();
  void Insert(std::string_view text);
  void Erase(size_t from, size_t to);
  void EraseWord();
  void Recall(int step);
  void Suspend();

  size_t LineStart() const;  // of the cursor's line; a text may have several
  size_t LineEndOffset() const;

  void Draw();
  void LeaveDrawing();  // the cursor goes below what is drawn

  bool plain_;
  std::string prompt_;
  std::string text_;
  size_t cursor_ = 0;  // a byte offset, at a cluster's start
  std::vector<std::string> history_;
  size_t recalled_ = 0;  // index in history_; its size: the line being written
  std::string unsent_;   // that line while another one is recalled
  int cursor_row_ = 0;   // of the drawing, as are the next
  int last_row_ = 0;
};

}  // namespace krafla::tools

#endif  // KRAFLA_TOOLS_LINE_EDITOR_H_
