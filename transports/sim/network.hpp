// NetworkModel: what moving bytes costs in a simulated job, by LogGP, apart for ranks of one node and of two; and how
// much chance there is in it.
//
// Source: Alexandrov, Ionescu, Schauser, Scheiman: LogGP (SPAA 1995): latency L, overhead o, gap g per message and G
// per byte.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "transports/tca/peach2_model.hpp"

namespace coracle::internals::sim {

/// The way between two ranks.
struct Link {
  std::uint64_t latency_ns;
  std::uint64_t overhead_send_ns;     ///< The sender's processor is busy for so long with each transfer.
  std::uint64_t overhead_receive_ns;  ///< The receiver's, with each message; one-sided transfers cost it nothing.
  std::uint64_t gap_ns;               ///< Least time between two transfers through one port.
  double bandwidth_bytes_per_ns;      ///< 1 / G.

  std::uint64_t time_for(std::size_t bytes) const noexcept {
    return static_cast<std::uint64_t>(std::llround(static_cast<double>(bytes) / bandwidth_bytes_per_ns));
  }
};

/// The initial values are the built-in model: nodes with 2.5 GB/s of memory bandwidth, joined by DDR InfiniBand.
struct NetworkModel {
  Link inside{200, 50, 50, 20, 2.5};
  Link between{3400, 300, 300, 200, 1.4};
  std::uint64_t jitter_ns = 500;       ///< Each transfer is late by a random time up to this.
  bool reorder = true;                 ///< Transfers of one rank to another may overtake each other; messages never do.
  std::uint64_t step_ns = 100;         ///< What one turn of a rank's loop costs; at least 1.
  std::size_t eager_bytes_max = 8192;  ///< See TransportTraits.
  tca::Peach2Model board;              ///< With `--transport tca`: every rank's.
  std::size_t inbox_bytes = 64 * 1024;  ///< Room for messages under way to one rank; then senders wait.
};

/// What a message takes of an inbox beside its payload.
inline constexpr std::size_t kMessageOverheadBytes = 64;

/// Reads the text of a model: lines of `key = value unit`, `#` starts a comment; what is not given keeps its built-in
/// value. Throws Error (bad_input): "`name`:line: what is wrong and how to mend it".
NetworkModel parse_network(std::string_view text, std::string_view name);
/// Reads a file; the built-in model for "". Throws Error when it can't be read.
NetworkModel read_network(const std::string& path);

// --- what the readers of network models and fault plans share ---

/// Without the white space around it.
std::string_view trimmed(std::string_view text) noexcept;
/// Quotes what a file holds, which may be anything.
std::string in_quotes(std::string_view text);
/// All of a short file. `what` it should be, for messages: "network model". Throws Error when it can't be read, or is
/// too large to be that.
std::string read_text(const std::string& path, const char* what);

}  // namespace coracle::internals::sim
