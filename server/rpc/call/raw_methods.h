// A generated service whose methods get their messages as bytes.
#ifndef HOLDFAST_SERVER_RPC_CALL_RAW_METHODS_H_
#define HOLDFAST_SERVER_RPC_CALL_RAW_METHODS_H_

namespace holdfast {

// `Service` with each of `Methods`, which are generated (WithRawCallbackMethod_NAME), around it.
template <typename Service, template <typename> class... Methods>
struct RawMethodsOf {
  using Type = Service;
};
template <typename Service, template <typename> class Method, template <typename> class... Methods>
struct RawMethodsOf<Service, Method, Methods...> {
  using Type = Method<typename RawMethodsOf<Service, Methods...>::Type>;
};

template <typename Service, template <typename> class... Methods>
using RawMethods = typename RawMethodsOf<Service, Methods...>::Type;

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_CALL_RAW_METHODS_H_
