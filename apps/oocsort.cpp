// External sort: a file larger than memory becomes sorted runs in a paged segment, and these are merged by all ranks.
// apps/oocsort/run_maker.cpp and run_merger.cpp are the two halves.
#include <fmt/core.h>
#include <coracle/coracle.hpp>

#include <cstdint>
#include <variant>

#include "apps/agreement.hpp"
#include "apps/command_line.hpp"
#include "apps/file.hpp"
#include "apps/oocsort/generate.hpp"
#include "apps/oocsort/new_file.hpp"
#include "apps/oocsort/options.hpp"
#include "apps/oocsort/plan.hpp"
#include "apps/oocsort/report.hpp"
#include "apps/oocsort/sort.hpp"

namespace coracle::oocsort {
namespace {

Task<> generate(Rank& self, const Options& options, std::uint64_t count) {
  NewFile file = co_await NewFile::make(self.world(), options.output, count * options.shape.bytes, options.force);
  const std::uint64_t first = first_of(count, self.size(), self.id());
  const std::uint64_t end = first_of(count, self.size(), self.id() + 1);
  co_await agree_on(self.world(), write_records(self, options.shape, options.seed, first, end, file.file()));
  co_await file.complete(self.world());
  if (self.id() == 0 && !options.quiet)
    fmt::print("{}: {} random records of {} bytes, seed {}\n", options.output, count, options.shape.bytes,
               options.seed);
}

Task<> sort(Rank& self, const Options& options) {
  Sort sorting(self, options);
  const Report report = co_await sorting.run();
  if (self.id() != 0) co_return;
  if (!options.quiet) fmt::print("{}", to_text(report));
  if (!options.json_path.empty()) write_text(to_json(report), options.json_path);
}

int start(int argc, char** argv) {
  const std::variant<Options, int> parsed = parse_options(argc, argv);
  if (const int* const status = std::get_if<int>(&parsed)) return leave(argc, argv, *status);
  const Options& options = std::get<Options>(parsed);
  return run(argc, argv, [&options](Rank& self) {
    return run_agreed(self, options.generated ? generate(self, options, *options.generated) : sort(self, options));
  });
}

}  // namespace
}  // namespace coracle::oocsort

int main(int argc, char** argv) {
  return coracle::oocsort::start(argc, argv);
}
