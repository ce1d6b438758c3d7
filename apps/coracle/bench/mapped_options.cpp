// From words to what is measured, and back.
#include "apps/coracle/bench/mapped_options.hpp"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "apps/coracle/bench/pages_options.hpp"
#include "runtime/error.hpp"

namespace coracle::internals::bench {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kMemoryMin = 16 * kMiB;
constexpr std::uint64_t kMemoryMax = 16 * 1024 * kMiB;

}  // namespace

void add_mapped_options(CLI::App& command, MappedWords& words) {
  command
      .add_option("--memory-bytes", words.memory_bytes,
                  "Of memory for pages; the file that is read has 8 times as much")
      ->capture_default_str()
      ->group("mapped");
  command
      .add_option("--rival", words.rival,
                  "Program that reads the file in its own way, beside ours (see tests/peers/compare-windows)")
      ->group("mapped");
}

void add_mapped_rank_options(CLI::App& command, MappedWords& words) {
  add_mapped_options(command, words);
  command.add_option("--own-group", words.own_group);
  command.add_option("--mmap-group", words.mmap_group);
  command.add_option("--rival-group", words.rival_group);
  command.add_option("--no-group", words.no_group);
}

MappedBenchOptions mapped_options(const MappedWords& words, const std::string& path) {
  const std::uint64_t bytes = whole_pages("--memory-bytes", words.memory_bytes, kMemoryMin, kMemoryMax);
  return {path, bytes, words.rival, words.own_group, words.mmap_group, words.rival_group, words.no_group};
}

std::vector<std::string> to_arguments(const MappedWords& words) {
  return {"--memory-bytes", words.memory_bytes, "--rival",       words.rival,       "--own-group", words.own_group,
          "--mmap-group",   words.mmap_group,   "--rival-group", words.rival_group, "--no-group",  words.no_group};
}

MappedGroups::MappedGroups(std::uint64_t memory_bytes, bool with_rival) {
  try {
    own_.emplace("own", memory_bytes + own_bytes_of_rank(memory_bytes));
    mmap_.emplace("mmap", memory_bytes + kOwnBytesOfReader);
    if (with_rival) rival_.emplace("rival", memory_bytes + own_bytes_of_rank(memory_bytes));
    stay_.emplace(*own_);
  } catch (const Error& error) {
    rival_.reset();
    mmap_.reset();
    own_.reset();
    reason_ = error.what();
  }
}

MappedWords MappedGroups::tell(MappedWords words) const {
  if (own_) words.own_group = own_->folder();
  if (mmap_) words.mmap_group = mmap_->folder();
  if (rival_) words.rival_group = rival_->folder();
  words.no_group = reason_;
  return words;
}

}  // namespace coracle::internals::bench
