// Tuning: how this job's collectives go. The job's text (JobShape::choices), which all ranks have alike, holds measured
// costs and what the user has chosen by the environment; the rest is up to the cost model.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/choice/model.hpp"
#include "runtime/team/team_nodes.hpp"

namespace coracle::internals {

class Rank;

/// What the user wants of each collective, wherever the program says nothing.
struct UserChoices {
  BroadcastChoice broadcast;
  std::array<Algorithm, kCollectives> algorithms{};  ///< By Collective.

  /// From CORACLE_BROADCAST, CORACLE_ALL_REDUCE and so on. Throws Error (bad_input).
  static UserChoices of_environment();
};

/// Both as one line of words, for JobShape::choices: `costs` are words of set_cost (name=value).
std::string job_words(std::string_view costs, const UserChoices& choices);

/// `rank.local<Tuning>()`. Its answers are the same at every member of a team that asks the same.
class Tuning {
 public:
  /// By the job's text and the transports' traits.
  explicit Tuning(Rank& rank);
  /// `text`: words of job_words(). Throws Error (bad_input).
  Tuning(const Costs& built_in, std::string_view text);

  const CostModel& model() const noexcept { return model_; }

  /// What the caller's `choice` leaves open is taken from the environment, and then from the model.
  BroadcastChoice broadcast(const TeamNodes& nodes, std::size_t bytes, const BroadcastChoice& choice = {}) {
    return broadcast(TeamShape{nodes.count(), nodes.largest()}, bytes, choice);
  }
  BroadcastChoice broadcast(TeamShape shape, std::size_t bytes, const BroadcastChoice& choice = {});
  /// How the collective goes where the program says nothing.
  Algorithm algorithm(Collective collective, const Work& work) noexcept;
  /// What algorithm() has answered last, for reports; `automatic`: nothing yet.
  Algorithm latest(Collective collective) const noexcept { return latest_[static_cast<std::size_t>(collective)]; }

 private:
  struct Remembered {
    std::size_t bytes = 0;
    TeamShape shape{};
    BroadcastChoice asked;
    BroadcastChoice choice;
    bool is_set = false;
  };

  struct RememberedAlgorithm {
    Work work;
    Collective collective{};
    Algorithm algorithm = Algorithm::automatic;
  };

  CostModel model_;
  UserChoices user_choices_;
  // Direct-mapped caches: the model looks at many candidates, and is asked at the beginning of each collective.
  std::vector<Remembered> remembered_;
  std::array<RememberedAlgorithm, 128> remembered_algorithms_{};
  std::array<Algorithm, kCollectives> latest_{};
};

// --- words ---
//
// How choices are written: "competitive,ring,chunk=64K,depth=4" for broadcasts, "ring" for other collectives; in the
// environment, in reports, and in what a job's ranks are told.

/// `where`: what the text is, for messages ("CORACLE_BROADCAST"). "" and "automatic" leave all to the model. Throws
/// Error (bad_input): what is wrong, where, and what may stand there.
BroadcastChoice parse_broadcast_choice(std::string_view text, std::string_view where);
Algorithm parse_algorithm(std::string_view text, Collective collective, std::string_view where);

/// What parse_broadcast_choice understands; what is automatic is left out ("automatic" when all is).
std::string to_words(const BroadcastChoice& choice);

/// Takes the first word out of a text of words "name=value" with blanks between them; false when there is none. Throws
/// Error (bad_input) of other words.
bool next_setting(std::string_view& text, std::string_view where, std::string_view& name, std::string_view& value);
/// Calls `take(name, value)` for each of them.
template <class Take>
void for_each_setting(std::string_view text, std::string_view where, const Take& take) {
  std::string_view name;
  std::string_view value;
  while (next_setting(text, where, name, value)) take(name, value);
}

}  // namespace coracle::internals
