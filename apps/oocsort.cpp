// External sort: a file larger than memory becomes sorted runs in a paged segment, and these are merged by all ranks.
// apps/oocsort/run_maker.cpp and run_merger.cpp are the two halves.
#include <fmt/core.h>
#include <coracle/coracle.hpp>

#include <cstdint>

#include "apps/common/agreement.hpp"
#include "apps/common/program.hpp"
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
  tell(self, co_await sorting.run(), options);
}

Task<> run_all(Rank& self, const Options& options) {
  return run_agreed(self, options.generated ? generate(self, options, *options.generated) : sort(self, options));
}

}  // namespace
}  // namespace coracle::oocsort

int main(int argc, char** argv) {
  return coracle::start(argc, argv, coracle::oocsort::parse_options(argc, argv), coracle::oocsort::run_all);
}
