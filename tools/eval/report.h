// The results of ml_eval quality as a table in Markdown and as one page of HTML with a plot that
// needs nothing from outside.
#ifndef KRAFLA_TOOLS_EVAL_REPORT_H_
#define KRAFLA_TOOLS_EVAL_REPORT_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace krafla::tools {

using QualityRows = std::vector<nlohmann::ordered_json>;

std::string MarkdownReport(const QualityRows& rows);
std::string HtmlReport(const QualityRows& rows);

}  // namespace krafla::tools

#endif  // KRAFLA_TOOLS_EVAL_REPORT_H_
