// The command line of `oocsort`, and its report: lines and JSON.
#include "apps/oocsort/user_interface.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <filesystem>

#include "apps/common/command_line.hpp"
#include "apps/oocsort/plan.hpp"

namespace coracle::oocsort {
namespace {

struct Words {
  std::string first;
  std::string second;
  std::string order = "little";
  std::uint64_t generated = 0;
};

void add_record_options(OptionGroup& app, Options& options, Words& words) {
  app.add_value("--record", options.shape.bytes, "BYTES", "size of a record", whole_number(1, kRecordBytesMax));
  app.add_value("--key", options.shape.key_bytes, "BYTES", "size of the key, which is the beginning of the record",
                whole_number(1, kRecordBytesMax));
  app.add_value(
      "--order", words.order, "ORDER",
      "how keys are compared: little (as unsigned little-endian numbers) or bytes (the first byte counts most)",
      one_of({"little", "bytes"}));
}

/// `generate`: with it nothing is sorted.
void add_run_options(OptionGroup& app, Options& options, Option generate) {
  app.add_size("--memory", options.memory, "256M",
               "of each rank, for buffers and, a quarter, for its cache of pages, which is part of its segment",
               byte_size(kMemoryMin, std::uint64_t{1} << 46));
  app.add_size("--page", options.page_bytes, "",
               "of the segment that holds the sorted runs, a power of two (by their number)", page_size())
      .excludes(generate);
  app.add_value(
         "--scratch", options.scratch, "FOLDER",
         "where that segment's files shall be, on every node; they are as large as the input (the folder of OUTPUT)")
      .excludes(generate);
  app.add_flag("--verify", options.verify, "compare OUTPUT with INPUT: order, number of records, checksum")
      .excludes(generate);
  app.add_flag("--force", options.force, "replace OUTPUT where it exists");
  app.add_flag("--quiet", options.quiet, "no progress and no summary");
  app.add_option("--json", options.json_path, "write the summary to a file too").type_name("FILE");
}

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

}  // namespace

std::variant<Options, int> parse_options(int argc, char** argv) {
  CommandLine app(
      "Sorts a file of records of a fixed size that is larger than memory, over the ranks of a Coracle job: sorted "
      "runs in a paged segment on the nodes' SSDs, merged by all ranks. Records with equal keys stay in their order. "
      "With --generate it writes random records instead.",
      "oocsort");
  Options options;
  Words words;
  app.add_option("INPUT", words.first, "the file to sort; with --generate: the file to write").required();
  const Option output = app.add_option("OUTPUT", words.second, "the sorted file, on a file system of all nodes");
  const Option generate = app.add_option("--generate", words.generated, "write so many random records to the file")
                              .type_name("N")
                              .check(any_count())
                              .excludes(output);
  app.add_option("--seed", options.seed, "of the random records").needs(generate).check(any_count());
  add_record_options(app, options, words);
  add_run_options(app, options, generate);
  const auto check = [&] {
    if (options.shape.key_bytes > options.shape.bytes) internals::wrong("--key: the key is longer than the record");
    if (!generate.is_given() && !output.is_given()) internals::wrong("OUTPUT is required");
  };
  if (const std::optional<int> status = app.parse(argc, argv, check)) return *status;
  if (generate.is_given()) options.generated = words.generated;
  options.input = options.generated ? "" : words.first;
  options.output = options.generated ? words.first : words.second;
  options.shape.order = words.order == "bytes" ? KeyOrder::bytes : KeyOrder::little;
  if (options.scratch.empty()) options.scratch = folder_of(options.output);
  return options;
}

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
                      report.pages.ssd_writes, report.pages.ssd_reads, report.pages.from_peers);
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
  object["pages"] = {
      {"written", report.pages.ssd_writes}, {"read", report.pages.ssd_reads}, {"from_peers", report.pages.from_peers}};
  if (report.verifying_s)
    object["verified"] = {{"seconds", *report.verifying_s}, {"checksum", fmt::format("{:016x}", report.checksum)}};
  return object.dump(2) + "\n";
}

}  // namespace coracle::oocsort
