// A CPU twin of the part of CUDA that our sources use, so that their own indexing, pipelines and
// tails run where there is no device. A thread is a fiber; a block's fibers take turns and meet at
// barriers; blocks run one after another. Asynchronous copies land only when they are waited for,
// and everything shared starts as NaN, so that a missing wait or a stray read shows in the result.
#pragma once
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <deque>
#include <functional>
#include <utility>
#include <vector>

#define __device__
#define __global__
#define __host__
#define __shared__
#define __forceinline__ inline
#define __launch_bounds__(...)

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
struct float2 { float x, y; };
struct float4 { float x, y, z, w; };
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline void __stcs(float4* target, float4 value) {
    if (reinterpret_cast<uintptr_t>(target) % 16 != 0) abort();
    *target = value;
}

typedef int cudaError_t;
typedef void* cudaStream_t;
enum { cudaSuccess = 0, cudaErrorInvalidValue = 1 };
enum { cudaDevAttrMultiProcessorCount, cudaDevAttrMaxSharedMemoryPerMultiprocessor };
enum { cudaFuncAttributeMaxDynamicSharedMemorySize };
struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
    void* attrs;
    unsigned numAttrs;
};

alignas(128) float staged[1 << 16];
static dim3 threadIdx, blockIdx, gridDim;
static int twin_processors = 2;      // few, so that a block walks several tiles
static int twin_shared = 228 * 1024;  // per multiprocessor, as on sm_90

inline cudaError_t cudaSetDevice(int) { return cudaSuccess; }
inline cudaError_t cudaDeviceGetAttribute(int* value, int which, int) {
    *value = which == cudaDevAttrMultiProcessorCount ? twin_processors : twin_shared;
    return cudaSuccess;
}
template <class Kernel>
cudaError_t cudaFuncSetAttribute(Kernel*, int, int bytes) {
    return bytes <= 227 * 1024 ? cudaSuccess : cudaErrorInvalidValue;
}
inline const char* cudaGetErrorString(cudaError_t) { return "twin"; }
extern "C" void configure_twin(int processors, int shared) {
    twin_processors = processors;
    twin_shared = shared;
}

namespace twin {
struct Copy { float* target; const float* source; bool inside; };
struct Fiber {
    ucontext_t context;
    std::vector<char> stack;
    bool done = false;
    std::vector<Copy> open;
    std::deque<std::vector<Copy>> groups;
};
struct Meeting {
    int arrived = 0;
    unsigned generation = 0;
};
struct Warp : Meeting {  // the meeting place of one mma: the last lane to arrive multiplies for all
    Meeting plain;       // and that of a barrier without one
    float* c[32];
    uint32_t a[32][4], b[32][2];
};
static std::vector<Fiber> fibers;
static Warp warps[32];
static ucontext_t scheduler;
static unsigned current, waiting, generation;
static std::function<void()> body;

inline void yield() { swapcontext(&fibers[current].context, &scheduler); }
inline void start() {
    body();
    fibers[current].done = true;
    yield();
}
inline float tf32(uint32_t bits) {
    bits &= 0xffffe000u;  // the tensor cores see no more
    float value;
    memcpy(&value, &bits, 4);
    return value;
}
// The fragments of m16n8k8 as the PTX manual gives them: a[row][k], b[k][column], c[row][column].
inline void mma(Warp& warp) {
    float a[16][8], b[8][8];
    for (int lane = 0; lane < 32; ++lane) {
        for (int i = 0; i < 4; ++i)
            a[lane / 4 + i % 2 * 8][lane % 4 + i / 2 * 4] = tf32(warp.a[lane][i]);
        for (int i = 0; i < 2; ++i) b[lane % 4 + i * 4][lane / 4] = tf32(warp.b[lane][i]);
    }
    for (int lane = 0; lane < 32; ++lane)
        for (int i = 0; i < 4; ++i) {
            double sum = warp.c[lane][i];
            for (int k = 0; k < 8; ++k)
                sum += double(a[lane / 4 + i / 2 * 8][k]) * b[k][lane % 4 * 2 + i % 2];
            warp.c[lane][i] = float(sum);
        }
}
inline void run_block(unsigned threads) {
    for (float& word : staged) word = NAN;
    fibers = std::vector<Fiber>(threads);
    for (auto& warp : warps) warp = Warp();
    waiting = 0;
    for (Fiber& fiber : fibers) {
        fiber.stack.resize(1 << 16);
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = fiber.stack.data();
        fiber.context.uc_stack.ss_size = fiber.stack.size();
        makecontext(&fiber.context, start, 0);
    }
    for (unsigned left = threads; left > 0;)
        for (current = 0; current < threads; ++current) {
            if (fibers[current].done) continue;
            threadIdx = dim3(current);
            swapcontext(&scheduler, &fibers[current].context);
            left -= fibers[current].done;
        }
}
}  // namespace twin

inline void __syncthreads() {
    const unsigned now = twin::generation;
    if (++twin::waiting == twin::fibers.size()) {
        twin::waiting = 0;
        ++twin::generation;
    }
    while (twin::generation == now) twin::yield();
}

inline void __syncwarp() {
    twin::Meeting& meeting = twin::warps[threadIdx.x / 32].plain;
    const unsigned now = meeting.generation;
    if (++meeting.arrived == 32) {
        meeting.arrived = 0;
        ++meeting.generation;
    }
    while (meeting.generation == now) twin::yield();
}

inline uint32_t round_to_tf32(float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return isfinite(value) ? (bits + 0x1000u) & 0xffffe000u : bits;
}

inline void multiply(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    twin::Warp& warp = twin::warps[threadIdx.x / 32];
    const unsigned lane = threadIdx.x % 32, now = warp.generation;
    warp.c[lane] = c;
    memcpy(warp.a[lane], a, 16);
    warp.b[lane][0] = b0;
    warp.b[lane][1] = b1;
    if (++warp.arrived == 32) {
        twin::mma(warp);
        warp.arrived = 0;
        ++warp.generation;
    }
    while (warp.generation == now) twin::yield();
}

inline uint64_t dropped_last() { return 0; }
inline void copy_16_bytes(float* target, const float* source, bool inside, uint64_t) {
    if ((reinterpret_cast<uintptr_t>(target) | reinterpret_cast<uintptr_t>(source)) % 16 != 0)
        abort();
    for (int i = 0; i < 4; ++i) target[i] = NAN;  // in flight: whoever reads it now is wrong
    twin::fibers[threadIdx.x].open.push_back({target, source, inside});
}
inline void close_group() {
    twin::Fiber& fiber = twin::fibers[threadIdx.x];
    fiber.groups.push_back(std::move(fiber.open));
    fiber.open.clear();
}
template <int GROUPS>
inline void wait_for_groups() {
    auto& groups = twin::fibers[threadIdx.x].groups;
    for (; groups.size() > GROUPS; groups.pop_front())
        for (const twin::Copy& copy : groups.front())
            for (int i = 0; i < 4; ++i) copy.target[i] = copy.inside ? copy.source[i] : 0.0f;
}

template <class... Wanted, class... Given>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Wanted...),
                               Given... given) {
    if (config->dynamicSmemBytes > sizeof(staged)) return cudaErrorInvalidValue;
    gridDim = config->gridDim;
    twin::body = [=] { kernel(static_cast<Wanted>(given)...); };
    for (unsigned y = 0; y < gridDim.y; ++y)
        for (unsigned x = 0; x < gridDim.x; ++x) {
            blockIdx = dim3(x, y);
            twin::run_block(config->blockDim.x);
        }
    return cudaSuccess;
}
