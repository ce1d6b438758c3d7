// The times of the collectives other than broadcast, by the messages that collectives/between sends.
//
// Source of the counts: Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH
// (IJHPCA 2005). What a message costs is LogGP's, by the mailbox's two protocols.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "collectives/choice/lanes.hpp"
#include "collectives/choice/model.hpp"
#include "collectives/messages/mailbox.hpp"

namespace coracle::internals {
namespace {

/// MessageCosts between two participants.
class MessageCosts {
 public:
  MessageCosts(const Costs& costs, bool on_one_node) noexcept
      : cost_(on_one_node ? on_node(costs.inside) : costs.between) {}

  /// It stays with its sender until it is asked for.
  static bool is_large(double bytes) noexcept { return bytes > static_cast<double>(Mailbox::kWholeBytesMax); }
  /// Until the receiver has it: a large one is offered, asked for, and comes.
  double receive_ns(double bytes) const noexcept { return (is_large(bytes) ? 3 : 1) * hop_ns() + wire_ns(bytes); }
  /// Until both have theirs and may go on: who has sent a large one waits until it is taken.
  double exchange_ns(double bytes) const noexcept { return hops_ns(bytes) + wire_ns(bytes); }
  /// One of many exchanges in a row, each with what the one before has brought, from one neighbour to another.
  double relay_ns(double bytes, std::uint32_t places) const noexcept {
    const double waiting = places == 2 ? 1 : 1.15;  // neighbours wait for each other, and not in pairs
    return waiting * hops_ns(bytes) + wire_ns(bytes) + meeting_ns(bytes, bytes, 0.3);
  }
  /// Of `whole` data that is halved, and halved again, this part.
  double half_ns(double part, double whole) const noexcept {
    return exchange_ns(part) + meeting_ns(part, whole / 2, 0.2);
  }
  /// What it takes longer because messages of several lanes, into which steps of so many bytes are divided, meet at the
  /// ports.
  double meeting_ns(double bytes, double step_bytes, double share) const noexcept {
    return between::lanes_for(static_cast<std::size_t>(step_bytes)) > 1 ? share * wire_ns(bytes) : 0;
  }
  /// What one more beside another takes.
  double next_ns(double bytes) const noexcept {
    return (is_large(bytes) ? 3 : 1) * std::max(cost_.gap_ns, cost_.overhead_ns) + wire_ns(bytes);
  }
  /// The part of exchange_ns() for which nothing is on the wire.
  double hops_ns(double bytes) const noexcept { return (is_large(bytes) ? 4 : 1) * hop_ns(); }
  /// Its way through a port.
  double wire_ns(double bytes) const noexcept { return bytes / cost_.bandwidth_bytes_per_ns; }
  /// Of what has just come, in the caches of one core.
  double copy_ns(double bytes) const noexcept {
    constexpr double kBytesPerNs = 10;
    return bytes / kBytesPerNs;
  }
  double combine_ns(double bytes) const noexcept {
    constexpr double kBytesPerNs = 5;
    return bytes / kBytesPerNs;
  }

 private:
  static Costs::Between on_node(const Costs::Inside& inside) noexcept {
    constexpr double kNextNs = 300;  // of the processor of who sends or receives many
    constexpr double kCopies = 2;    // by way of the message's memory, or of the kernel
    return {inside.message_ns, 0, kNextNs, inside.bandwidth_bytes_per_ns / kCopies};
  }
  double hop_ns() const noexcept { return cost_.latency_ns + cost_.overhead_ns; }

  Costs::Between cost_;
};

/// The greatest power of two, without the others, which are folded into it and get the result back.
std::uint32_t core_of(std::uint32_t places) noexcept {
  return std::bit_floor(places);
}

double doubling_ns(const MessageCosts& messages, double m, std::uint32_t places) noexcept {
  const double steps = std::countr_zero(core_of(places));
  const std::uint32_t folded = places - core_of(places);
  double folding = folded > 0 ? messages.receive_ns(m) + messages.combine_ns(m) : 0;
  // Up to half of the core gives back results while the other half still hears of its values, if nobody waits to send.
  if (2 * folded > core_of(places) || (folded > 0 && messages.is_large(m))) folding += messages.receive_ns(m);
  return folding + steps * (messages.exchange_ns(m) + messages.combine_ns(m));
}

/// Without the unfolding.
double halve_ns(const MessageCosts& messages, double m, std::uint32_t places) noexcept {
  double ns = core_of(places) == places ? 0 : messages.receive_ns(m) + messages.combine_ns(m);
  double part = m;
  for (std::uint32_t left = core_of(places); left > 1; left /= 2) {
    part /= 2;
    ns += messages.half_ns(part, m) + messages.combine_ns(part);
  }
  return ns;
}

double halving_ns(const MessageCosts& messages, double m, std::uint32_t places) noexcept {
  double ns = halve_ns(messages, m, places) + (core_of(places) == places ? 0 : messages.receive_ns(m));
  double part = m;
  for (std::uint32_t left = core_of(places); left > 1; left /= 2) {
    part /= 2;
    ns += messages.half_ns(part, m);
  }
  return ns;
}

double pairwise_sums_ns(const MessageCosts& messages, double block, std::uint32_t places) noexcept {
  return (places - 1) * (messages.relay_ns(block, places) + messages.combine_ns(block));
}

double all_reduce_ns(const MessageCosts& messages, Algorithm algorithm, double m, std::uint32_t places) noexcept {
  if (algorithm == Algorithm::doubling) return doubling_ns(messages, m, places);
  if (algorithm == Algorithm::halving) return halving_ns(messages, m, places);
  return pairwise_sums_ns(messages, m / places, places) + (places - 1) * messages.relay_ns(m / places, places);
}

/// As many steps as the member has bits set in its number that has the most; the first one receives once more, which
/// adds to that only where it has to ask for what is offered.
double tree_ns(const MessageCosts& messages, double m, std::uint32_t places) noexcept {
  const double received = std::bit_width(places - 1);
  const double steps = messages.is_large(m) ? received : std::countr_zero(core_of(places));
  return steps * messages.receive_ns(m) + (received - steps) * messages.wire_ns(m) + received * messages.combine_ns(m);
}

double reduce_ns(const MessageCosts& messages, Algorithm algorithm, double m, std::uint32_t places) noexcept {
  if (algorithm == Algorithm::binomial) return tree_ns(messages, m, places);
  const std::uint32_t core = core_of(places);
  const double part = m / core;
  return halve_ns(messages, m, places) + messages.receive_ns(part) + (core - 2) * messages.next_ns(part) +
         messages.meeting_ns(m - part, m / 2, 0.2);
}

/// gather and scatter.
double rooted_ns(const MessageCosts& messages, Algorithm algorithm, double block, std::uint32_t places) noexcept {
  if (algorithm == Algorithm::linear) return messages.receive_ns(block) + (places - 2) * messages.next_ns(block);
  double ns = 2 * messages.copy_ns(block * places);  // into the order of the tree
  for (std::uint32_t distance = 1; distance < places; distance *= 2) {
    const double bytes = block * std::min(distance, places - distance);
    const bool is_step = 2 * distance <= places || messages.is_large(bytes);  // see tree_ns
    ns += is_step ? messages.receive_ns(bytes) : messages.wire_ns(bytes);
  }
  return ns;
}

double gather_all_ns(const MessageCosts& messages, Algorithm algorithm, double block, std::uint32_t places) noexcept {
  if (algorithm == Algorithm::ring) return (places - 1) * messages.relay_ns(block, places);
  double ns = messages.copy_ns(block * places);  // into the order of the team
  for (std::uint32_t distance = 1; distance < places; distance *= 2)
    ns += messages.exchange_ns(block * std::min(distance, places - distance));
  return ns;
}

double reduce_scatter_ns(const MessageCosts& messages, Algorithm algorithm, double block,
                         std::uint32_t places) noexcept {
  if (algorithm == Algorithm::pairwise) return pairwise_sums_ns(messages, block, places);
  const double all = block * places;
  return 2 * messages.copy_ns(all) + all_reduce_ns(messages, algorithm, all, places);
}

double all_to_all_ns(const MessageCosts& messages, Algorithm algorithm, double block, std::uint32_t places) noexcept {
  if (algorithm == Algorithm::pairwise) {
    constexpr double kPairs = 4;  // at work at a time (between/all_to_all.cpp)
    return std::ceil((places - 1) / kPairs) * messages.hops_ns(block) + (places - 1) * messages.next_ns(block);
  }
  double ns = 2 * messages.copy_ns(block * places);
  for (std::uint32_t distance = 1; distance < places; distance *= 2) {
    // Those of the places whose number has this bit.
    const std::uint32_t number = places / (2 * distance) * distance +
                                 (places % (2 * distance) > distance ? places % (2 * distance) - distance : 0);
    ns += messages.exchange_ns(block * number) + 2 * messages.copy_ns(block * number);
  }
  return ns;
}

double scan_ns(const MessageCosts& messages, Algorithm, double bytes, std::uint32_t places) noexcept {
  return std::bit_width(places - 1) * (messages.exchange_ns(bytes) + 2 * messages.combine_ns(bytes));
}

/// By Collective.
constexpr std::array kTimes = {reduce_ns, all_reduce_ns,     rooted_ns,     gather_all_ns,
                               rooted_ns, reduce_scatter_ns, all_to_all_ns, scan_ns};
static_assert(kTimes.size() == kCollectives);

}  // namespace

double CostModel::collective_ns(Collective collective, Algorithm algorithm, const Work& work) const noexcept {
  if (work.participants <= 1) return 0;
  const MessageCosts messages(costs_, work.on_one_node);
  return kTimes[static_cast<std::size_t>(collective)](messages, algorithm, static_cast<double>(work.bytes),
                                                      work.participants);
}

Algorithm CostModel::choose(Collective collective, const Work& work) const noexcept {
  // The first in the list has the fewest steps.
  constexpr double kAdvantage = 0.95;
  return quickest(algorithms_of(collective), kAdvantage,
                  [&](Algorithm algorithm) { return collective_ns(collective, algorithm, work); });
}

}  // namespace coracle::internals
