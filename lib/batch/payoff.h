// Whether a draft pays: what a pass of more rows costs beside a pass of one, measured, against how
// many of the drafted tokens are expected to be right, counted for each class of them (how long a
// match they continue, how sure a draft model was). Results do not depend on it, only speed does.
#ifndef KRAFLA_LIB_BATCH_PAYOFF_H_
#define KRAFLA_LIB_BATCH_PAYOFF_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace krafla {

class Payoff {
 public:
  static constexpr size_t kClasses = 8;
  using Chances = std::array<double, kClasses>;

  // What is believed of each class until it was seen.
  explicit Payoff(const Chances& prior);

  void Judge(size_t which, bool hit);            // a token of this class was right or not
  void Passed(size_t rows, double us);           // a pass of so many rows took so long
  void Drafted(double us);                       // so did drafting a token, where that costs
  double chance(size_t which) const;             // that a token is right, if those before it are
  double row_cost() const { return row_cost_; }  // of a further row; a pass of one row is 1
  double token_cost() const { return token_cost_; }  // of drafting a token

  // How many of the first tokens of these classes to draft for the most tokens a second; 0: none.
  // Drafting itself is not counted: it is done.
  size_t Best(std::span<const uint8_t> classes) const;

 private:
  struct Seen {
    double hits = 0;
    double all = 0;
  };
  std::array<Seen, kClasses> seen_;
  double one_us_ = 0;  // a pass of one row; 0: not measured yet
  double row_cost_;
  double token_cost_ = 0;
};

}  // namespace krafla

#endif  // KRAFLA_LIB_BATCH_PAYOFF_H_
