// One reduction per agreement.
#include "apps/common/agreement.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace coracle {

Task<bool> agree_on_more(Team& team, std::exception_ptr error, bool more) {
  // The smallest place of a member that has failed, and of one that has more to do.
  const std::uint32_t nobody = team.size();
  std::vector<std::uint32_t> first = {error ? team.index() : nobody, more ? team.index() : nobody};
  const Result<void> reached = co_await as_result(team.all_reduce(first, min_of));
  if (!reached && error) std::rethrow_exception(error);  // it broke the team itself
  reached.value();
  if (first[0] < nobody) throw Agreed{first[0] == team.index() ? error : nullptr};
  co_return first[1] < nobody;
}

Task<> agree(Team& team, std::exception_ptr error) {
  co_await agree_on_more(team, std::move(error), false);
}

Task<> agree_on(Team& team, Task<> work) {
  std::exception_ptr error;
  try {
    co_await work;
  } catch (const Agreed&) {
    throw;
  } catch (...) {
    error = std::current_exception();
  }
  co_await agree(team, error);
}

Task<> no_work() {
  co_return;
}

Task<> run_agreed(Rank& self, Task<> program) {
  std::exception_ptr error;
  bool agreed = false;
  try {
    Task<> running = std::move(program);
    co_await running;
  } catch (const Agreed& failure) {
    agreed = true;
    error = failure.error;
  }
  if (agreed) co_await self.world().barrier();
  if (error) std::rethrow_exception(error);
}

}  // namespace coracle
