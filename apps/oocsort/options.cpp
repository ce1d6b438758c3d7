// The command line of `oocsort`.
#include "apps/oocsort/options.hpp"

#include <CLI/CLI.hpp>
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

void add_record_options(CLI::App& app, Options& options, Words& words) {
  add_value(app, "--record", options.shape.bytes, "BYTES", "size of a record", whole_number(1, kRecordBytesMax));
  add_value(app, "--key", options.shape.key_bytes, "BYTES", "size of the key, which is the beginning of the record",
            whole_number(1, kRecordBytesMax));
  add_value(app, "--order", words.order, "ORDER",
            "how keys are compared: little (as unsigned little-endian numbers) or bytes (the first byte counts most)",
            CLI::IsMember({"little", "bytes"}));
}

/// `generate`: with it nothing is sorted.
void add_run_options(CLI::App& app, Options& options, CLI::Option* generate) {
  add_size(app, "--memory", options.memory, "256M",
           "of each rank, for buffers and, a quarter, for its cache of pages, which is part of its segment",
           byte_size(kMemoryMin, std::uint64_t{1} << 46));
  add_size(app, "--page", options.page_bytes, "",
           "of the segment that holds the sorted runs, a power of two (by their number)", page_size())
      ->excludes(generate);
  add_value(app, "--scratch", options.scratch, "FOLDER",
            "where that segment's files shall be, on every node; they are as large as the input (the folder of OUTPUT)")
      ->excludes(generate);
  app.add_flag("--verify", options.verify, "compare OUTPUT with INPUT: order, number of records, checksum")
      ->excludes(generate);
  app.add_flag("--force", options.force, "replace OUTPUT where it exists");
  app.add_flag("--quiet", options.quiet, "no progress and no summary");
  app.add_option("--json", options.json_path, "write the summary to a file too")->type_name("FILE");
}

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

}  // namespace

std::variant<Options, int> parse_options(int argc, char** argv) {
  CLI::App app(
      "Sorts a file of records of a fixed size that is larger than memory, over the ranks of a Coracle job: sorted "
      "runs in a paged segment on the nodes' SSDs, merged by all ranks. Records with equal keys stay in their order. "
      "With --generate it writes random records instead.",
      "oocsort");
  Options options;
  Words words;
  app.add_option("INPUT", words.first, "the file to sort; with --generate: the file to write")->required();
  auto* const output = app.add_option("OUTPUT", words.second, "the sorted file, on a file system of all nodes");
  auto* const generate = app.add_option("--generate", words.generated, "write so many random records to the file")
                             ->type_name("N")
                             ->check(any_count())
                             ->excludes(output);
  app.add_option("--seed", options.seed, "of the random records")->needs(generate)->check(any_count());
  add_record_options(app, options, words);
  add_run_options(app, options, generate);
  app.callback([&] {
    if (options.shape.key_bytes > options.shape.bytes)
      throw CLI::ValidationError("--key", "the key is longer than the record");
    if (generate->empty() && output->empty()) throw CLI::RequiredError("OUTPUT");
  });
  if (const std::optional<int> status = parse_command_line(app, argc, argv)) return *status;
  if (!generate->empty()) options.generated = words.generated;
  options.input = options.generated ? "" : words.first;
  options.output = options.generated ? words.first : words.second;
  options.shape.order = words.order == "bytes" ? KeyOrder::bytes : KeyOrder::little;
  if (options.scratch.empty()) options.scratch = folder_of(options.output);
  return options;
}

}  // namespace coracle::oocsort
