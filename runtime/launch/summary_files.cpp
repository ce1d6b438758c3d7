// Opening and writing the files of a summary; reading a region's sums.
#include "runtime/launch/summary_files.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/insight/job_summary.hpp"
#include "runtime/launch/say.hpp"

namespace coracle::internals {

SummaryFiles::Output::Output(std::string path)
    : path_(std::move(path)), was_there_(::access(path_.c_str(), F_OK) == 0) {
  file_.reset(std::fopen(path_.c_str(), "we"));
  if (!file_) throw_errno(errno, fmt::format("can't write the summary to {} (--summary-files)", path_));
}

SummaryFiles::Output::~Output() {
  if (file_ && !is_written_ && !was_there_) ::unlink(path_.c_str());
}

void SummaryFiles::Output::write(const std::string& text) {
  if (std::exchange(is_written_, true)) return;
  bool is_fine = std::fwrite(text.data(), 1, text.size(), file_.get()) == text.size();
  is_fine = std::fclose(file_.release()) == 0 && is_fine;
  if (!is_fine) say("the summary in {} is not whole: {}", path_, std::strerror(errno));
}

SummaryFiles::SummaryFiles(const JobOptions& options) : is_wanted_(options.shape.summary_bytes > 0) {
  if (options.summary.empty()) return;
  json_ = std::make_unique<Output>(options.summary + ".json");
  picture_ = std::make_unique<Output>(options.summary + ".svg");
}

SummaryFiles::~SummaryFiles() = default;

void SummaryFiles::write(const JobSummaries& summaries) {
  const JobSummary job = add_up(summaries);
  write_to_user(screen_of(job));
  if (json_) json_->write(json_of(job, summaries));
  if (picture_) picture_->write(picture_of(job));
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
  return summaries;
}

}  // namespace coracle::internals
