// CollectiveForms: a collective as the entry points call it.
#pragma once

namespace coracle::mpi {

class Info;
class Request;

/// The three forms of a collective with these parameters. Each throws MpiError.
template <class... Parameters>
struct CollectiveForms {
  void (*block)(Parameters... parameters);
  void (*begin)(Parameters... parameters, Request*& request);
  void (*prepare)(Parameters... parameters, Info* info, Request*& request);
};

}  // namespace coracle::mpi
