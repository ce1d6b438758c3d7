// Kernels for the stand-in, and how their runs end, for tests of who launches them.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "runtime/core/error.hpp"
#include "tests/cuda/fake_cuda.hpp"
#include "transports/cuda/copy_engine.hpp"

namespace coracle::internals::test {

inline constexpr std::size_t kCount = 1000;
inline constexpr char kCode[] = "a module";

/// What the kernel gets: it adds `value` to all numbers.
struct Addition {
  std::uint64_t* numbers;
  std::uint64_t value;
};

inline std::function<void()> add(const cuda::Launch& launch, const FakeMemory& memory) {
  Addition what{};
  if (launch.parameter.size() != sizeof what) return {};
  std::memcpy(&what, launch.parameter.data(), sizeof what);
  auto* const numbers = static_cast<std::uint64_t*>(memory(what.numbers, kCount * sizeof(std::uint64_t)));
  if (numbers == nullptr) return {};
  return [numbers, what] {
    for (std::size_t i = 0; i < kCount; ++i) numbers[i] += what.value;
  };
}

/// How a run has ended, in words.
inline Task<> run_and_tell(cuda::Kernels& kernels, tca::TableId table, std::string& ended) {
  try {
    co_await kernels.run(table);
    ended = "well";
  } catch (const Error& error) {
    ended = error.code().message() + ": " + error.what();
  }
}

inline std::string message_of(auto&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing is thrown";
}

inline bool says(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

/// A parameter as large as may be: the kernel writes all of it to where its beginning says.
struct Largest {
  std::byte* to;
  std::array<std::byte, cuda::kParameterBytesMax - sizeof(std::byte*)> bytes;
};

inline std::function<void()> keep(const cuda::Launch& launch, const FakeMemory& memory) {
  Largest what{};
  if (launch.parameter.size() != sizeof what) return {};
  std::memcpy(&what, launch.parameter.data(), sizeof what);
  void* const to = memory(what.to, sizeof what);
  if (to == nullptr) return {};
  return [to, what] { std::memcpy(to, &what, sizeof what); };
}

/// A kernel that runs until it is let go.
struct Gate {
  explicit Gate(FakeCuda& api) {
    api.provide("wait", [state = state](const cuda::Launch&, const FakeMemory&) {
      return [state] {
        state->begun = true;
        while (state->held.load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        state->passed = true;
      };
    });
  }
  static cuda::Launch launch(cuda::Kernels& kernels) { return {kernels.find("wait"), {1, 1, 1}, {1, 1, 1}, {}}; }

  struct State {
    std::atomic<bool> begun{false};
    std::atomic<bool> held{true};
    std::atomic<bool> passed{false};
  };
  const std::shared_ptr<State> state = std::make_shared<State>();  // a kernel may outlive the test's scope
  std::atomic<bool>& begun = state->begun;
  std::atomic<bool>& held = state->held;
  std::atomic<bool>& passed = state->passed;
};

}  // namespace coracle::internals::test
