// The results of ml_eval quality as a table in Markdown and as one page of HTML with a plot that
// needs nothing from outside.
#ifndef KRAFLA_TOOLS_EVAL_REPORT_H_
#define KRAFLA_TOOLS_EVAL_REPORT_H_

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace krafla::tools {

using QualityRows = std::vector<nlohmann::ordered_json>;

// How each begins.
inline constexpr std::string_view kMarkdownBegins = "| model |";
inline constexpr std::string_view kHtmlBegins =
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Quality</title>\n";

std::string MarkdownReport(const QualityRows& rows);
std::string HtmlReport(const QualityRows& rows);

}  // namespace krafla::tools

#endif  // KRAFLA_TOOLS_EVAL_REPORT_H_
