// Every key changes the text, then the whole text is drawn anew from its first row: simple, and
// right even where a terminal's idea of a width differs from ours (the cursor is placed by column).
// Rows are broken by us, never by the terminal, because terminals differ in what happens at the
// last column.
#include "tools/line_editor.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "tools/interrupt.h"
#include "tools/raw_mode.h"
#include "tools/text_cells.h"

namespace krafla::tools {
namespace {

constexpr int kEscapeWaitMs =
    50;  // bytes of one key arrive together; a lone Esc has none behind it
constexpr size_t kMaxHistory = 1000;

constexpr char Ctrl(char letter) { return static_cast<char>(letter & 0x1F); }

}  // namespace

LineEditor::LineEditor()
    : plain_(!IsTerminal(STDIN_FILENO) || !IsTerminal(STDERR_FILENO) || !TerminalHasEscapes()) {}

LineEnd LineEditor::Read(std::string_view prompt, std::string* line) {
  prompt_ = prompt;
  if (!plain_) {
    const RawMode raw;
    if (raw.active()) return Edit(line);
  }
  WriteAll(STDERR_FILENO, prompt_);
  return ReadLine(line);
}

LineEnd LineEditor::Edit(std::string* line) {
  text_.clear();
  cursor_ = 0;
  recalled_ = history_.size();
  cursor_row_ = last_row_ = 0;
  Draw();
  for (;;) {
    Effect effect = Effect::kEdited;
    if (!WaitForInput(STDIN_FILENO)) {
      effect = Effect::kInterrupt;  // sent from elsewhere: in raw mode Ctrl-C is a key
    } else if (const int key = ReadKey(0); key >= 0) {
      effect = OnKey(static_cast<char>(key));
    } else if (!IsTerminal(STDIN_FILENO)) {
      effect = Effect::kEndOfInput;  // the terminal has gone
    }
    if (effect == Effect::kEdited) {
      Draw();
      continue;
    }
    LeaveDrawing();
    *line = text_;
    if (effect == Effect::kEndOfInput) return LineEnd::kEndOfInput;
    if (effect == Effect::kInterrupt) return LineEnd::kInterrupted;
    if (!text_.empty() && (history_.empty() || history_.back() != text_)) history_.push_back(text_);
    if (history_.size() > kMaxHistory) history_.erase(history_.begin());
    return LineEnd::kNewline;
  }
}

LineEditor::Effect LineEditor::OnKey(char key) {
  switch (key) {
    case '\r':
    case '\n':
      return Effect::kSubmit;
    case Ctrl('C'):
      return Effect::kInterrupt;
    case Ctrl('D'):
      if (text_.empty()) return Effect::kEndOfInput;
      Erase(cursor_, ClusterEnd(text_, cursor_));
      break;
    case 0x7F:
    case Ctrl('H'):
      Erase(ClusterStart(text_, cursor_), cursor_);
      break;
    case Ctrl('A'):
      cursor_ = LineStart();
      break;
    case Ctrl('E'):
      cursor_ = LineEndOffset();
      break;
    case Ctrl('B'):
      cursor_ = ClusterStart(text_, cursor_);
      break;
    case Ctrl('F'):
      cursor_ = ClusterEnd(text_, cursor_);
      break;
    case Ctrl('K'):
      Erase(cursor_, LineEndOffset());
      break;
    case Ctrl('U'):
      Erase(LineStart(), cursor_);
      break;
    case Ctrl('W'):
      EraseWord();
      break;
    case Ctrl('P'):
      Recall(-1);
      break;
    case Ctrl('N'):
      Recall(1);
      break;
    case Ctrl('L'):
      WriteAll(STDERR_FILENO, "\x1b[H\x1b[2J");
      cursor_row_ = last_row_ = 0;
      break;
    case Ctrl('Z'):
      Suspend();
      break;
    case 0x1B:
      OnEscape();
      break;
    default:
      if (static_cast<unsigned char>(key) < 0x20 && key != '\t') break;
      std::string bytes(1, key);
      // The rest of a code point comes at once; drawing half of one would show a wrong character.
      const auto lead = static_cast<unsigned char>(key);
      const int more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : lead >= 0xC0 ? 1 : 0;
      for (int i = 0, next; i < more && (next = ReadKey(kEscapeWaitMs)) >= 0; ++i) {
        bytes.push_back(static_cast<char>(next));
      }
      if (FindMalformed(bytes) == std::string_view::npos) Insert(bytes);
  }
  return Effect::kEdited;
}

void LineEditor::OnEscape() {
  const int first = ReadKey(kEscapeWaitMs);
  if (first == '\r' || first == '\n') return Insert("\n");  // Alt-Enter
  if (first != '[' && first != 'O') return;
  std::string parameters;
  for (int key; (key = ReadKey(kEscapeWaitMs)) >= 0;) {
    if (key >= 0x40 && key <= 0x7E) return OnSequence(parameters, static_cast<char>(key));
    parameters.push_back(static_cast<char>(key));
  }
}

void LineEditor::OnSequence(std::string_view parameters, char final) {
  if (final == '~') {
    if (parameters == "1" || parameters == "7") cursor_ = LineStart();
    if (parameters == "4" || parameters == "8") cursor_ = LineEndOffset();
    if (parameters == "3") Erase(cursor_, ClusterEnd(text_, cursor_));
    if (parameters == "200") Paste();
    return;
  }
  switch (final) {
    case 'A':
      return Recall(-1);
    case 'B':
      return Recall(1);
    case 'C':
      cursor_ = ClusterEnd(text_, cursor_);
      break;
    case 'D':
      cursor_ = ClusterStart(text_, cursor_);
      break;
    case 'H':
      cursor_ = LineStart();
      break;
    case 'F':
      cursor_ = LineEndOffset();
      break;
  }
}

void LineEditor::Paste() {
  constexpr std::string_view kEnd = "\x1b[201~";
  std::string pasted;
  for (int key; !pasted.ends_with(kEnd) && (key = ReadKey(1000)) >= 0;) {
    pasted.push_back(static_cast<char>(key));
  }
  if (pasted.ends_with(kEnd)) pasted.resize(pasted.size() - kEnd.size());
  std::string clean;
  for (size_t at = 0; at < pasted.size();) {
    const CodePoint c = CodePointAt(pasted, at);
    if (c.value == '\r') {  // terminals send line breaks so
      clean += '\n';
      if (pasted.substr(at, 2) == "\r\n") ++at;
    } else if (c.value == '\n' || c.value == '\t' || (c.value >= 0x20 && c.value != 0x7F)) {
      clean += c.value == 0xFFFD ? "\xEF\xBF\xBD" : pasted.substr(at, c.length);
    }
    at += c.length;
  }
  Insert(clean);
}

void LineEditor::Insert(std::string_view text) {
  text_.insert(cursor_, text);
  cursor_ += text.size();
  // What was inserted may have joined the cluster before or behind it.
  const size_t start = ClusterStart(text_, cursor_);
  cursor_ = std::max(cursor_, ClusterEnd(text_, start));
}

void LineEditor::Erase(size_t from, size_t to) {
  text_.erase(from, to - from);
  cursor_ = from;
}

void LineEditor::EraseWord() {
  size_t from = cursor_;
  while (from > 0 && text_[from - 1] == ' ') --from;
  while (from > 0 && text_[from - 1] != ' ' && text_[from - 1] != '\n') --from;
  Erase(from, cursor_);
}

void LineEditor::Recall(int step) {
  const bool beyond = step < 0 ? recalled_ == 0 : recalled_ == history_.size();
  if (beyond) return;
  if (recalled_ == history_.size()) unsent_ = text_;
  recalled_ = step < 0 ? recalled_ - 1 : recalled_ + 1;
  text_ = recalled_ == history_.size() ? unsent_ : history_[recalled_];
  cursor_ = text_.size();
}

void LineEditor::Suspend() {
  LeaveDrawing();
  SuspendProcess();
}

size_t LineEditor::LineStart() const {
  const size_t newline = cursor_ == 0 ? std::string::npos : text_.rfind('\n', cursor_ - 1);
  return newline == std::string::npos ? 0 : newline + 1;
}

size_t LineEditor::LineEndOffset() const {
  return std::min(text_.find('\n', cursor_), text_.size());
}

void LineEditor::Draw() {
  const TerminalSize size = GetTerminalSize();
  const int indent = static_cast<int>(prompt_.size());
  std::vector<std::string> rows(1, prompt_);
  int column = indent, cursor_row = 0, cursor_column = indent;
  const auto break_row = [&] {
    rows.emplace_back();
    column = 0;
  };
  for (size_t at = 0; at <= text_.size();) {
    const size_t end = ClusterEnd(text_, at);
    const bool newline = at < text_.size() && text_[at] == '\n';
    const bool tab = at < text_.size() && text_[at] == '\t';
    const int width = tab       ? 4
                      : newline ? 0
                                : CellWidth(std::string_view(text_).substr(at, end - at));
    // The cursor itself needs a cell too.
    if (column + std::max(width, 1) > size.columns && !newline) break_row();
    if (at == cursor_) {
      cursor_row = static_cast<int>(rows.size()) - 1;
      cursor_column = std::min(column, size.columns - 1);
    }
    if (at == text_.size()) break;
    if (newline) {
      break_row();
    } else {
      rows.back() += tab ? "    " : text_.substr(at, end - at);
      column += width;
    }
    at = end;
  }
  // No more rows than the terminal has, those around the cursor: what scrolled away cannot be
  // redrawn.
  const int n_rows = static_cast<int>(rows.size());
  const int first = std::clamp(cursor_row - size.rows / 2, 0, std::max(0, n_rows - size.rows));
  const int last = std::min(n_rows, first + size.rows) - 1;
  std::string out = "\x1b[?25l";
  if (cursor_row_ > 0) out += fmt::format("\x1b[{}A", std::min(cursor_row_, size.rows - 1));
  out += "\r\x1b[J";
  for (int row = first; row <= last; ++row) out += (row > first ? "\r\n" : "") + rows[row];
  if (last > cursor_row) out += fmt::format("\x1b[{}A", last - cursor_row);
  out += fmt::format("\x1b[{}G\x1b[?25h", cursor_column + 1);
  WriteAll(STDERR_FILENO, out);
  cursor_row_ = cursor_row - first;
  last_row_ = last - first;
}

void LineEditor::LeaveDrawing() {
  std::string out;
  if (last_row_ > cursor_row_) out += fmt::format("\x1b[{}B", last_row_ - cursor_row_);
  WriteAll(STDERR_FILENO, out + "\r\n");
  cursor_row_ = last_row_ = 0;
}

}  // namespace krafla::tools
