// `coracle info`: what this machine can do, and what to do about the rest.
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "apps/coracle/commands.hpp"
#include "apps/coracle/machine.hpp"

namespace coracle::internals {
namespace {

/// "0 | 1 | 2,6": a bar between cores, a comma between the hardware threads of one.
std::string text_of(const std::vector<std::vector<int>>& cores) {
  std::string text;
  for (const std::vector<int>& cpus : cores)
    text += fmt::format("{}{}", text.empty() ? "" : " | ", fmt::join(cpus, ","));
  return text;
}

void print_row(const char* name, const std::string& value) {
  std::printf("  %-26s %s\n", name, value.c_str());
}

void print_for_people(const Machine& machine) {
  std::printf("coracle %s\n\nMachine\n", CORACLE_VERSION);
  print_row("kernel", machine.kernel);
  print_row("processor", machine.processor);
  print_row("usable cores", std::to_string(machine.cores.size()) + " (CPUs " + text_of(machine.cores) + ")");
  print_row("NUMA nodes", std::to_string(machine.numa_nodes));
  print_row("memory", std::to_string(machine.memory_bytes >> 20) + " MiB");
  for (const Section& section : machine.sections) {
    std::printf("\n%s\n", section.title);
    for (const Ability& ability : section.abilities) {
      std::printf("  %-26s %-4s %s\n", ability.name.c_str(), ability.available ? section.yes : section.no,
                  ability.detail.c_str());
      if (!ability.remedy.empty()) std::printf("  %-26s %-4s remedy: %s\n", "", "", ability.remedy.c_str());
    }
  }
}

void print_json(const Machine& machine) {
  nlohmann::json json = {
      {"version", CORACLE_VERSION}, {"kernel", machine.kernel},         {"processor", machine.processor},
      {"cores", machine.cores},     {"numa_nodes", machine.numa_nodes}, {"memory_bytes", machine.memory_bytes},
  };
  for (const Section& section : machine.sections) {
    nlohmann::json& list = json[section.key] = nlohmann::json::object();
    for (const Ability& ability : section.abilities)
      list[ability.name] = {{"available", ability.available}, {"detail", ability.detail}, {"remedy", ability.remedy}};
  }
  std::printf("%s\n", json.dump(2).c_str());
}

}  // namespace

void add_info_command(CLI::App& app, int& status) {
  auto as_json = std::make_shared<bool>(false);
  CLI::App* info = app.add_subcommand("info", "Tell what this machine can do: cores, placements, input/output, limits");
  info->add_flag("--json", *as_json, "For programs");
  info->callback([as_json, &status] {
    const Machine machine = look_at_machine();
    if (*as_json) {
      print_json(machine);
    } else {
      print_for_people(machine);
    }
    status = 0;
  });
}

}  // namespace coracle::internals
