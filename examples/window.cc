// A window that never waits for the model: the reply is made on a thread of the library and polled
// once a frame. The title shows it as it comes; Escape cancels. Usage: window [MODEL.mlb [FRAMES]]
#include <SDL2/SDL.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <krafla/krafla.hpp>
#include <string>

namespace {

struct Window {
  Window() {
    SDL_Init(SDL_INIT_VIDEO);
    window =
        SDL_CreateWindow("krafla", SDL_WINDOWPOS_UNDEFINED, SDL_WINDOWPOS_UNDEFINED, 640, 120, 0);
  }
  ~Window() {
    SDL_DestroyWindow(window);
    SDL_Quit();
  }
  SDL_Window* window;
};

}  // namespace

int main(int argc, char** argv) {
  const char* path = argc > 1 ? argv[1] : "models/smollm2-135m-instruct-q8.mlb";
  const long frames = argc > 2 ? std::atol(argv[2]) : 0;  // 0: until the window is closed
  try {
    Window window;
    if (window.window == nullptr) throw std::runtime_error(SDL_GetError());
    krafla_runtime_options runtime_options = KRAFLA_RUNTIME_OPTIONS_INIT;
    runtime_options.threads = std::max(1, SDL_GetCPUCount() - 1);  // one is left for the frames
    krafla::Runtime runtime(runtime_options);
    krafla::Model model = krafla::Model::Open(path, &runtime);
    krafla::Tokenizer tokenizer(model);
    krafla::Session session(model);
    krafla::Sampler sampler(1);
    sampler.Add("temperature", {{"t", 0.8}});
    krafla_generate_options options = KRAFLA_GENERATE_OPTIONS_INIT;
    options.max_tokens = 40;
    session.Start(tokenizer.Encode("Once upon a time, in a town by the sea,"), &sampler, options);

    std::string text;
    bool open = true;
    bool working = true;
    Uint64 longest = 0;
    for (long frame = 0; open && (frames == 0 || frame < frames || working); ++frame) {
      const Uint64 start = SDL_GetPerformanceCounter();
      for (SDL_Event event; SDL_PollEvent(&event) != 0;) {
        if (event.type == SDL_QUIT) open = false;
        if (event.type == SDL_KEYDOWN && event.key.keysym.sym == SDLK_ESCAPE) session.Cancel();
      }
      krafla_event event = KRAFLA_EVENT_INIT;
      while (working && session.Poll(&event)) {
        if (event.kind == KRAFLA_EVENT_TOKEN) text.append(event.text, event.text_length);
        working = event.kind != KRAFLA_EVENT_END;
      }
      SDL_SetWindowTitle(window.window, text.c_str());
      longest = std::max(longest, SDL_GetPerformanceCounter() - start);
      SDL_Delay(16);
    }
    std::printf(
        "%s\nlongest frame: %.2f ms\n", text.c_str(),
        1e3 * static_cast<double>(longest) / static_cast<double>(SDL_GetPerformanceFrequency()));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
