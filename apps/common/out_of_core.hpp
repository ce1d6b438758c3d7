// What programs over paged segments have in common. What fails at one rank ends the program at all: each leaves its
// work by an exception, so that files and folders are gone everywhere before the failure is told, once, and ends the
// job. A folder for the segments' files while the program runs. And many transfers at once, but not all.
#pragma once

#include <coracle/coracle.hpp>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <string>
#include <utility>

namespace coracle {

/// Thrown by agree(): `error` at the first member that has failed, null at all others.
struct Agreed {
  std::exception_ptr error;
};

/// Collective. Throws Agreed at every member when any of them has an `error`.
Task<> agree(Team& team, std::exception_ptr error);

/// The same after each round of something: also whether any member has `more` to do.
Task<bool> agree_on_more(Team& team, std::exception_ptr error, bool more);

/// Runs `work`, in which members don't wait for one another, and agrees on how it ended. Collective.
Task<> agree_on(Team& team, Task<> work);
/// That of members who have none.
Task<> no_work();

/// Runs a rank's whole program, and waits for all others where it has ended by agreement; then the failure is thrown at
/// the rank that had it.
Task<> run_agreed(Rank& self, Task<> program);

/// One name for all ranks, a folder at every node; gone with these objects.
class ScratchFolder {
 public:
  /// Makes `<parent>/coracle-XXXXXX`. Collective; fails at all members together (Agreed).
  static Task<ScratchFolder> make(Team& team, std::string parent);
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder();

  std::string file(const std::string& name) const { return path_ + "/" + name; }
  /// Takes the names away from the files in it, which live on while they are open: so that nothing but an empty folder
  /// is left when the job is killed.
  void forget_files() const noexcept;

 private:
  explicit ScratchFolder(std::string path) noexcept : path_(std::move(path)) {}
  std::string path_;
};

/// Of what a segment's cache has done between two moments.
PagedCounts since(const PagedCounts& before, const PagedCounts& now);
/// Of all members' caches together; collective.
Task<PagedCounts> sum_of(Team& team, PagedCounts mine);

namespace detail {

template <class Work>
Task<> do_next(std::size_t& next, std::size_t count, Work& work) {
  while (next < count) {
    Task<> task = work(next++);
    co_await task;
  }
}

}  // namespace detail

/// Awaits the Task<> of `work(i)` for every i below `count`, in order of their beginning, at most `limit` at a time.
/// The first error cancels the rest and is rethrown when all have ended.
template <class Work>
Task<> for_each_in_flight(std::size_t count, std::size_t limit, Work work) {
  internals::PromiseBase& self = co_await internals::this_coroutine();
  Scope scope(self.loop(), &self.scope());
  std::size_t next = 0;
  const std::size_t tasks = std::min(count, limit);
  for (std::size_t i = 0; i < tasks; ++i) scope.spawn(detail::do_next(next, count, work));
  co_await scope.join();
}

}  // namespace coracle
