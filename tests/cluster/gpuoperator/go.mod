module kvobs.dev/testbed/gpuoperator

go 1.24.0

require github.com/NVIDIA/gpu-operator v0.0.0-20250917190837-d73a0086a6ba
