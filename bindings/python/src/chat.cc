// Chat: a conversation and the events of its replies. krafla/_chat.py makes it Python's.
#include "bind.h"

namespace krafla_python {
namespace {

std::unique_ptr<krafla::Chat> Open(const krafla::Model& model, bool drop, int64_t reserve) {
  krafla_chat_options options = KRAFLA_CHAT_OPTIONS_INIT;
  options.full = drop ? KRAFLA_CHAT_DROP_OLDEST : KRAFLA_CHAT_REFUSE;
  options.reserve = reserve;
  return std::make_unique<krafla::Chat>(model, options);
}

// (kind, index, text, id), or None.
py::object Next(krafla::Chat& chat) {
  krafla_chat_event event = KRAFLA_CHAT_EVENT_INIT;
  if (!chat.Next(&event)) return py::none();
  return py::make_tuple(event.kind, event.index, py::str(event.text, event.text_length),
                        py::str(event.id, event.id_length));
}

// (form, begin, end, schema)
py::tuple CallForm(krafla::Chat& chat, const std::string& tool) {
  krafla_call_form form{};
  form.struct_size = sizeof(form);
  krafla::Check(krafla_chat_get_call_form(chat.get(), tool.data(), tool.size(), &form));
  return py::make_tuple(form.form, form.begin, form.end,
                        std::string(form.schema, form.schema_length));
}

}  // namespace

void BindChat(py::module_& module) {
  py::class_<krafla::Chat>(module, "Chat")
      .def(py::init(&Open))
      .def("add_json", [](krafla::Chat& chat, const std::string& json) { chat.AddJson(json); })
      .def("set_tools", [](krafla::Chat& chat, const std::string& json) { chat.SetTools(json); })
      .def("set_variables",
           [](krafla::Chat& chat, const std::string& json) { chat.SetVariables(json); })
      .def("truncate", &krafla::Chat::Truncate)
      .def("json", &krafla::Chat::json)
      .def("encode", &krafla::Chat::Encode)
      .def("push", [](krafla::Chat& chat, int32_t id) { chat.Push(id); })
      .def("push_text", [](krafla::Chat& chat, const std::string& text) { chat.Push(text); })
      .def("next", &Next)
      .def("finish", &krafla::Chat::Finish)
      .def("call_form", &CallForm);
}

}  // namespace krafla_python
