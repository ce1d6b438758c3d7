// The text of `coracle top`: titles and a table. Pure functions.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/coracle/top/top_rows.hpp"

namespace coracle::internals {

/// What shows a picture of a job.
struct TopText {
  std::vector<std::string> titles;  ///< What is said of the job as a whole.
  std::vector<std::string> alarms;  ///< Why it can't go on.
  std::string header;               ///< Of the columns.
  std::vector<std::string> rows;
};

/// `rows`: of all ranks, each its own, ...
std::vector<std::string> title_lines(pid_t job, const insight::JobPicture& picture, std::span<const TopRow> rows);
std::vector<std::string> alarm_lines(const insight::JobPicture& picture);
/// ... `shown`: as they are to be listed.
TopText text_of(pid_t job, const insight::JobPicture& picture, std::span<const TopRow> rows,
                std::span<const TopRow> shown);

/// What a terminal would take for an order becomes '?'. What is no ASCII stays.
std::string harmless(std::string_view text);
/// The first `columns` characters of UTF-8.
std::string_view cut(std::string_view text, std::size_t columns) noexcept;
/// "0.3 s", "2:05" (minutes), "1:02:05"
std::string age_text(std::uint64_t milliseconds);
/// "812 KiB", "1.5 GiB"
std::string memory_text(double bytes);

}  // namespace coracle::internals
