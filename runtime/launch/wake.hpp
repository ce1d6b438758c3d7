// Waking those who sleep at a doorbell when a process that may have been ringing it has died.
#pragma once

#include "runtime/core/doorbell.hpp"
#include "runtime/job/job.hpp"
#include "runtime/launch/rank_process.hpp"

namespace coracle::internals {

/// Wakes the doorbell's owner whatever its state says, perhaps for nothing. A ringer takes the owner's announcement
/// first and makes the system call then: one that died in between has left a sleeper who counts as awake, and whom no
/// Doorbell::ring() will ever wake. Call after what is to be seen has been published by a seq_cst operation. Needs the
/// doorbell's descriptor, if it has one, as launchers do.
void wake_regardless(Doorbell& doorbell) noexcept;

/// The same for all ranks of the region and the owner of their devices.
void wake_all_regardless(const JobRegion& region) noexcept;

/// Of the ranks of `process`, to their peers on this node, and to the owner of their devices; those of other nodes find
/// its connections reset.
void announce_loss(const JobRegion& region, const RankProcess& process) noexcept;

}  // namespace coracle::internals
