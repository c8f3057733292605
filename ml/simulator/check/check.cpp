

namespace faultline::simulator {}
