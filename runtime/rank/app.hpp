// App: what a program runs on each rank.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

#include "runtime/core/std_parts.hpp"
#include "runtime/core/task.hpp"

namespace coracle::internals {

class Rank;

/// A function, or any callable, that takes a Rank& and gives a Task<>. Copies share the callable.
class App {
 public:
  App(Task<> (*function)(Rank&));
  template <class Function>
    requires(!std::same_as<Function, App> && std::is_invocable_r_v<Task<>, Function&, Rank&>)
  App(Function function) : program_(std::make_shared<ProgramOf<Function>>(std::move(function))) {}

  Task<> operator()(Rank& rank) const { return program_->run(rank); }

 private:
  struct Program {
    virtual ~Program() = default;
    virtual Task<> run(Rank& rank) = 0;
  };
  template <class Function>
  struct ProgramOf final : Program {
    explicit ProgramOf(Function of) : function(std::move(of)) {}
    Task<> run(Rank& rank) override { return function(rank); }
    Function function;
  };

  std::shared_ptr<Program> program_;
};

}  // namespace coracle::internals
