// Lines and JSON.
#include "apps/oocsort/report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace coracle::oocsort {
namespace {

double rate(double bytes, double seconds) {
  return seconds > 0 ? bytes / seconds : 0;
}

}  // namespace

std::string to_text(const Report& report) {
  std::string text = fmt::format(
      "sorted {} records of {} bytes ({:.1f} MB) on {} rank{} with {:.0f} MB each: {:.2f} s, {:.1f} MB/s\n",
      report.records, report.record_bytes, report.bytes() * 1e-6, report.ranks, report.ranks == 1 ? "" : "s",
      static_cast<double>(report.memory) * 1e-6, report.total_s(), rate(report.bytes(), report.total_s()) * 1e-6);
  text += fmt::format("  runs     {:>8.2f} s  {:>8.1f} MB/s  {} of them\n", report.making_s,
                      rate(report.bytes(), report.making_s) * 1e-6, report.runs);
  text += fmt::format("  merging  {:>8.2f} s  {:>8.1f} MB/s  pages of {} bytes: {} written, {} read, {} from peers\n",
                      report.merging_s, rate(report.bytes(), report.merging_s) * 1e-6, report.page_bytes,
                      report.ssd_writes, report.ssd_reads, report.from_peers);
  if (report.verifying_s)
    text += fmt::format("  verified {:>8.2f} s  in order, and the records of the input (checksum {:016x})\n",
                        *report.verifying_s, report.checksum);
  return text;
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Report, records, record_bytes, ranks, nodes, placement, runs, page_bytes)

std::string to_json(const Report& report) {
  nlohmann::json object = report;
  object["memory_per_rank"] = report.memory;
  object["runs_s"] = report.making_s;
  object["merging_s"] = report.merging_s;
  object["total_s"] = report.total_s();
  object["bytes_per_s"] = rate(report.bytes(), report.total_s());
  object["pages"] = {{"written", report.ssd_writes}, {"read", report.ssd_reads}, {"from_peers", report.from_peers}};
  if (report.verifying_s)
    object["verified"] = {{"seconds", *report.verifying_s}, {"checksum", fmt::format("{:016x}", report.checksum)}};
  return object.dump(2) + "\n";
}

}  // namespace coracle::oocsort
