// See report.h.
#include "tools/eval/report.h"

#include <fmt/format.h>

#include <algorithm>

namespace krafla::tools {
namespace {

double Number(const nlohmann::ordered_json& row, const char* key) {
  return row.contains(key) && row[key].is_number() ? row[key].get<double>() : 0;
}

std::string Text(const nlohmann::ordered_json& row, const char* key) {
  return row.contains(key) && row[key].is_string() ? row[key].get<std::string>() : "";
}

struct Column {
  const char* title;
  std::string (*cell)(const nlohmann::ordered_json& row);
};
const Column kColumns[] = {
    {"model", [](const auto& row) { return Text(row, "model"); }},
    {"MB", [](const auto& row) { return fmt::format("{:.1f}", Number(row, "bytes") / 1e6); }},
    {"KV", [](const auto& row) { return Text(row, "kv"); }},
    {"targets", [](const auto& row) { return fmt::format("{:.0f}", Number(row, "targets")); }},
    {"KL mean",
     [](const auto& row) {
       return fmt::format("{:.4f} +- {:.4f}", Number(row, "kl_mean"), Number(row, "kl_error"));
     }},
    {"median", [](const auto& row) { return fmt::format("{:.4f}", Number(row, "kl_median")); }},
    {"p99", [](const auto& row) { return fmt::format("{:.3f}", Number(row, "kl_p99")); }},
    {"max", [](const auto& row) { return fmt::format("{:.2f}", Number(row, "kl_max")); }},
    {"same first",
     [](const auto& row) { return fmt::format("{:.1f} %", 100 * Number(row, "top1")); }},
    {"perplexity",
     [](const auto& row) {
       const double ratio = Number(row, "ppl") / std::max(Number(row, "ref_ppl"), 1e-9);
       return fmt::format("{:.3f} ({:+.2f} +- {:.2f} %)", Number(row, "ppl"), 100 * (ratio - 1),
                          100 * ratio * Number(row, "nll_difference_error"));
     }},
    {"greedy match",
     [](const auto& row) {
       return fmt::format("{:.1f} of {:.0f}, least {:.0f}", Number(row, "match_mean"),
                          Number(row, "match_tokens"), Number(row, "match_least"));
     }},
    {"needle",
     [](const auto& row) {
       if (!row.contains("needle_depths")) return std::string("-");
       return fmt::format("{:.0f} of {:.0f}", Number(row, "needle_found"),
                          Number(row, "needle_depths"));
     }},
};

std::string Escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      out += c;
    }
  }
  return out;
}

// Bars of mean and 99th percentile, on scales of their own.
std::string Plot(const QualityRows& rows) {
  constexpr int kLine = 26;
  constexpr int kLabels = 330;
  constexpr int kWidth = 300;
  double mean = 1e-9;
  double p99 = 1e-9;
  for (const auto& row : rows) {
    mean = std::max(mean, Number(row, "kl_mean"));
    p99 = std::max(p99, Number(row, "kl_p99"));
  }
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" "
      "font-family=\"sans-serif\" font-size=\"13\">\n"
      "<text x=\"{}\" y=\"16\">KL mean</text><text x=\"{}\" y=\"16\">KL p99</text>\n",
      kLabels + 2 * kWidth + 160, kLine * (rows.size() + 1) + 10, kLabels, kLabels + kWidth + 80);
  int y = kLine;
  for (const auto& row : rows) {
    svg += fmt::format("<text x=\"0\" y=\"{}\">{}, KV {}</text>\n", y + 15,
                       Escaped(Text(row, "model")), Escaped(Text(row, "kv")));
    int x = kLabels;
    for (const auto& [key, most, color] :
         {std::tuple("kl_mean", mean, "#2a6f97"), std::tuple("kl_p99", p99, "#c1666b")}) {
      const int width = static_cast<int>(kWidth * Number(row, key) / most);
      svg += fmt::format(
          "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"16\" fill=\"{}\"/>"
          "<text x=\"{}\" y=\"{}\">{:.4f}</text>\n",
          x, y + 2, std::max(width, 1), color, x + width + 5, y + 15, Number(row, key));
      x += kWidth + 80;
    }
    y += kLine;
  }
  return svg + "</svg>\n";
}

}  // namespace

std::string MarkdownReport(const QualityRows& rows) {
  std::string text = "|";
  std::string line = "|";
  for (const Column& column : kColumns) {
    text += fmt::format(" {} |", column.title);
    line += "---|";
  }
  text += "\n" + line + "\n";
  for (const auto& row : rows) {
    text += "|";
    for (const Column& column : kColumns) text += fmt::format(" {} |", column.cell(row));
    text += "\n";
  }
  return text;
}

std::string HtmlReport(const QualityRows& rows) {
  std::string html(kHtmlBegins);
  html +=
      "<style>body{font-family:sans-serif;margin:2em}td,th{padding:.3em "
      ".7em;text-align:right}td:first-child{text-align:left}tr:nth-child(even){background:#f2f2f2}"
      "</style></head><body>\n<h1>Quality against the reference</h1>\n";
  html += Plot(rows);
  html += "<table><tr>";
  for (const Column& column : kColumns) html += fmt::format("<th>{}</th>", column.title);
  html += "</tr>\n";
  for (const auto& row : rows) {
    html += "<tr>";
    for (const Column& column : kColumns) {
      html += fmt::format("<td>{}</td>", Escaped(column.cell(row)));
    }
    html += "</tr>\n";
  }
  return html + "</table></body></html>\n";
}

}  // namespace krafla::tools
