// Integers are 64 bits and never wrap: an overflow is an error, where Python would grow the number.
#include "lib/chat/arithmetic.h"

#include <cmath>

#include "lib/chat/convert.h"
#include "lib/chat/format.h"

namespace krafla::chat {
namespace {

std::string_view Symbol(Op op) {
  switch (op) {
    case Op::kAdd:
      return "+";
    case Op::kSubtract:
      return "-";
    case Op::kMultiply:
      return "*";
    case Op::kDivide:
      return "/";
    case Op::kFloorDivide:
      return "//";
    case Op::kModulo:
      return "%";
    default:
      return "**";
  }
}

bool PowerFits(int64_t base, int64_t exponent, int64_t* out) {
  int64_t result = 1;
  while (exponent > 0) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) return false;
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) return false;
  }
  *out = result;
  return true;
}

StatusOr<Value> Integers(Interpreter& in, Op op, int64_t a, int64_t b) {
  int64_t r = 0;
  bool overflow = false;
  switch (op) {
    case Op::kAdd:
      overflow = __builtin_add_overflow(a, b, &r);
      break;
    case Op::kSubtract:
      overflow = __builtin_sub_overflow(a, b, &r);
      break;
    case Op::kMultiply:
      overflow = __builtin_mul_overflow(a, b, &r);
      break;
    case Op::kDivide:
      if (b == 0) return in.Error("division by zero");
      return Value::Float(static_cast<double>(a) / static_cast<double>(b));
    case Op::kFloorDivide:
    case Op::kModulo:
      if (b == 0) return in.Error("division by zero");
      if (b == -1) {
        overflow = op == Op::kFloorDivide && __builtin_sub_overflow(int64_t{0}, a, &r);
        break;
      }
      r = op == Op::kModulo ? a % b : a / b;
      if (a % b != 0 && (a % b < 0) != (b < 0)) r += op == Op::kModulo ? b : -1;
      break;
    default:
      if (b < 0) {
        if (a == 0) return in.Error("0 cannot be raised to a negative power");
        return Value::Float(std::pow(static_cast<double>(a), static_cast<double>(b)));
      }
      overflow = !PowerFits(a, b, &r);
  }
  if (overflow) return in.Error("integer overflow in {} {} {}", a, Symbol(op), b);
  return Value::Int(r);
}

StatusOr<Value> Floats(Interpreter& in, Op op, double a, double b) {
  switch (op) {
    case Op::kAdd:
      return Value::Float(a + b);
    case Op::kSubtract:
      return Value::Float(a - b);
    case Op::kMultiply:
      return Value::Float(a * b);
    case Op::kDivide:
      if (b == 0) return in.Error("float division by zero");
      return Value::Float(a / b);
    case Op::kFloorDivide:
    case Op::kModulo: {
      if (b == 0) return in.Error("float division by zero");
      double remainder = std::fmod(a, b);
      double quotient = (a - remainder) / b;
      if (remainder != 0 && (remainder < 0) != (b < 0)) {
        remainder += b;
        quotient -= 1;
      }
      if (remainder == 0) remainder = std::copysign(0.0, b);
      if (op == Op::kModulo) return Value::Float(remainder);
      double floor = std::floor(quotient);
      return Value::Float(quotient - floor > 0.5 ? floor + 1 : floor);
    }
    default: {
      double r = std::pow(a, b);
      if (std::isnan(r) && !std::isnan(a) && !std::isnan(b))
        return in.Error("power has no real value");
      return Value::Float(r);
    }
  }
}

StatusOr<Value> Repeat(Interpreter& in, const Value& sequence, int64_t times) {
  size_t n = times > 0 ? static_cast<size_t>(times) : 0;
  if (sequence.Is(Kind::kString)) {
    KRAFLA_RETURN_IF_ERROR(in.CheckRoom(n, sequence.text().memory() + 1));
    Text out;
    for (size_t i = 0; i < n; ++i) out.Append(sequence.text());
    return in.String(std::move(out));
  }
  const ListObject& list = sequence.As<ListObject>();
  KRAFLA_RETURN_IF_ERROR(in.CheckRoom(n, (list.items.size() + 1) * sizeof(Value)));
  std::vector<Value> out;
  for (size_t i = 0; i < n; ++i) out.insert(out.end(), list.items.begin(), list.items.end());
  return in.List(std::move(out), list.style);
}

bool IsRepeatable(const Value& v) {
  if (v.Is(Kind::kString)) return true;
  if (!v.Is(Kind::kList)) return false;
  ListStyle style = v.As<ListObject>().style;
  return style == ListStyle::kList || style == ListStyle::kTuple;
}

}  // namespace

StatusOr<Value> Arithmetic(Interpreter& in, Op op, const Value& a, const Value& b) {
  if (a.Is(Kind::kUndefined)) return in.UndefinedError(a);
  if (op == Op::kModulo && a.Is(Kind::kString)) return PercentFormat(in, a.text(), b);
  if (b.Is(Kind::kUndefined)) return in.UndefinedError(b);
  if (a.IsInteger() && b.IsInteger()) return Integers(in, op, a.i, b.i);
  if (a.IsNumber() && b.IsNumber()) return Floats(in, op, a.AsDouble(), b.AsDouble());
  if (op == Op::kAdd && a.Is(Kind::kString) && b.Is(Kind::kString)) {
    KRAFLA_RETURN_IF_ERROR(in.CheckRoom(a.text().memory() + b.text().memory()));
    Text out;
    out.Append(a.text());
    out.Append(b.text());
    return in.String(std::move(out));
  }
  bool same_list = IsRepeatable(a) && IsRepeatable(b) && a.Is(Kind::kList) && b.Is(Kind::kList) &&
                   a.As<ListObject>().style == b.As<ListObject>().style;
  if (op == Op::kAdd && same_list) {
    KRAFLA_RETURN_IF_ERROR(in.CheckRoom(a.items().size() + b.items().size(), sizeof(Value)));
    std::vector<Value> out = a.items();
    out.insert(out.end(), b.items().begin(), b.items().end());
    return in.List(std::move(out), a.As<ListObject>().style);
  }
  if (op == Op::kMultiply && IsRepeatable(a) && b.IsInteger()) return Repeat(in, a, b.i);
  if (op == Op::kMultiply && IsRepeatable(b) && a.IsInteger()) return Repeat(in, b, a.i);
  return in.Error("unsupported operand types for {}: '{}' and '{}'", Symbol(op), TypeName(a),
                  TypeName(b));
}

StatusOr<Value> Negate(Interpreter& in, const Value& v) {
  if (v.Is(Kind::kUndefined)) return in.UndefinedError(v);
  if (v.IsInteger()) return Integers(in, Op::kSubtract, 0, v.i);
  if (v.Is(Kind::kFloat)) return Value::Float(-v.d);
  return in.Error("bad operand type for unary -: '{}'", TypeName(v));
}

}  // namespace krafla::chat
