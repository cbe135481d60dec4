"""embed.py OUTPUT FILE...: writes the page's files as C++ string literals (page.h says what for)."""
import hashlib
import pathlib
import sys

TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
         ".svg": "image/svg+xml"}


def literal(content):
    """Lines of a string literal; octal escapes end after three digits, so no byte joins the one before."""
    lines = content.splitlines(keepends=True) or [b""]
    for line in lines:
        yield '"' + "".join(chr(byte) if 32 <= byte < 127 and byte not in b'"\\?' else f"\\{byte:03o}" for byte in line) + '"'


output, *names = sys.argv[1:]
with open(output, "w", encoding="ascii") as inc:
    inc.write("namespace krafla::tools {\n\nusing std::string_view_literals::operator\"\"sv;\n\n"
              "static constexpr PageFile kPageFiles[] = {\n")
    for name in sorted(names):
        file = pathlib.Path(name)
        content = file.read_bytes()
        path = "/" if file.name == "index.html" else "/" + file.name
        etag = hashlib.sha256(content).hexdigest()[:16]
        inc.write(f'  {{"{path}", "{TYPES[file.suffix]}", "\\"{etag}\\"",\n   ')
        inc.write("\n   ".join(literal(content)) + "sv},\n")
    inc.write("};\n\n}  // namespace krafla::tools\n")
