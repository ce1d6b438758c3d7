// A node of one rank.
#include "runtime/launch/pmix_rank.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <vector>

#include "runtime/core/error.hpp"
#include "runtime/launch/node_share.hpp"
#include "runtime/launch/pmix_launcher.hpp"

namespace coracle::internals {

PmixRank::PmixRank(std::uint64_t inbox_bytes) : client_(PmixClient::connect()) {
  JobShape shape;
  shape.placement = Placement::process;
  shape.size = client_->size();
  shape.nodes = client_->size();
  shape.inbox_bytes = inbox_bytes;
  agree(*client_, shape);
  const std::vector<NodeAddress> addresses = addresses_for(*client_, "");
  const NodeAddress at = addresses.size() == 1 ? addresses.front() : NodeAddress{};
  region_ = std::make_unique<JobRegion>(JobRegion::create(shape, JobRegion::Backing::anonymous, NodePart{rank(), {}}));
  listener_ = open_listener(at);
  region_->block(rank()).listen_fd = listener_.fd.get();
  region_->port(rank()) = listener_.port;
  responder_ = std::make_unique<HealthResponder>(at, shape.key);
  client_->publish(kPmixCard, encode(card_of(*region_, addresses, responder_->port())));
  client_->fence();
  const JobDirectory directory = directory_from(*client_, rank());
  enter_directory(*region_, directory);
  // Unlike a launcher's, this process's own affinity says nothing of the machine.
  if (directory.ranks_on_machine > static_cast<std::uint32_t>(::get_nprocs())) region_->header().shape.idle.spins = 0;
  stop_fd_ = FileDescriptor(::eventfd(0, EFD_CLOEXEC));
  if (!stop_fd_) throw_errno(errno, "can't make an event descriptor");
  thread_ = std::thread([this] { answer_health(); });
}

PmixRank::~PmixRank() {
  const std::uint64_t one = 1;
  if (::write(stop_fd_.get(), &one, sizeof one) == sizeof one) thread_.join();
}

void PmixRank::answer_health() {
  for (;;) {
    std::array<pollfd, 2> set{{{stop_fd_.get(), POLLIN, 0}, {responder_->fd(), POLLIN, 0}}};
    ::poll(set.data(), set.size(), -1);
    if ((set[0].revents & POLLIN) != 0) return;
    responder_->answer_all(*this);
  }
}

HealthAnswer PmixRank::health(std::uint32_t asked) noexcept {
  HealthAnswer answer;
  if (!region_->is_local(asked)) return answer;
  // acquire: pairs with the rank's release when it comes to the phase.
  const bool attached = region_->block(asked).phase.load(std::memory_order_acquire) != RankPhase::starting;
  answer.health = attached ? RankHealth::running : RankHealth::starting;
  return answer;
}

void PmixRank::finish(int exit_status) {
  if (exit_status != 0) return client_->abort(exit_status, "");
  client_->fence();  // the others may ask after this rank until all have ended
  client_->finish();
}

}  // namespace coracle::internals
