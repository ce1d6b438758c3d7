// Opening and writing the files of a summary; reading a region's sums.
#include "runtime/launch/summary_files.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>

#include "runtime/insight/job_summary.hpp"
#include "runtime/launch/call_sites.hpp"
#include "runtime/launch/say.hpp"

namespace coracle::internals {
namespace {

std::unique_ptr<OutputFile> make_file(const std::string& path) {
  return std::make_unique<OutputFile>(path, fmt::format("can't write the summary to {} (--summary-files)", path));
}

void write_to(std::unique_ptr<OutputFile> file, const std::string& text) {
  const std::string why = file->finish(std::fwrite(text.data(), 1, text.size(), file->get()) == text.size());
  if (!why.empty()) say("the summary in {} is not whole: {}", file->path(), why);
}

}  // namespace

SummaryFiles::SummaryFiles(const JobOptions& options) : is_wanted_(options.shape.summary_bytes > 0) {
  if (options.summary.empty()) return;
  json_ = make_file(options.summary + ".json");
  picture_ = make_file(options.summary + ".svg");
}

void SummaryFiles::write(const JobSummaries& summaries) {
  const JobSummary job = add_up(summaries);
  write_to_user(screen_of(job));
  if (json_) write_to(std::move(json_), json_of(job, summaries));
  if (picture_) write_to(std::move(picture_), picture_of(job));
}

JobSummaries read_summaries(const JobRegion& region) {
  const JobHeader& header = region.header();
  JobSummaries summaries;
  summaries.size = header.shape.size;
  summaries.nodes = header.shape.nodes;
  summaries.is_virtual = header.shape.placement == Placement::sim;
  if (header.shape.summary_bytes == 0) return summaries;
  const TickScale real({header.start_ticks, header.start_ns}, TickSample::take(header.ticks_of_processor));
  for (std::uint32_t rank = region.first_rank(); region.is_local(rank); ++rank) {
    RankSummary summary = read_summary(SummaryMemory(region.summary(rank)), rank, region.node_of(rank));
    if (!summaries.is_virtual && header.ticks_of_processor && summary.was_there()) set_times(summary, real);
    summaries.ranks.push_back(std::move(summary));
  }
  find_call_sites(summaries.ranks);
  return summaries;
}

}  // namespace coracle::internals
