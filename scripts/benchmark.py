"""The rotary Transformer against fairseq's own of the same sizes: training, translation, long sentences, the rotation.

    python scripts/benchmark.py
    python scripts/benchmark.py train --sizes iwslt --max-tokens 4096 --data data-bin --output benchmark.json

Both models are measured in turn, in processes of their own, and compared repetition by repetition: the tables have
medians with the least and the greatest ratio, and each process's peak memory. Times mean something on a quiet machine
only.

train     target tokens a second through fairseq's Trainer, on the same batches, and the share of the machine's peak
          that they need: a GPU's, or the processor's best rate at products of matrices
generate  through fairseq-generate with beam 4; without checkpoints weights are random and all translations equally long
length    a training step on sentences of one length; what does not fit into memory is a row that says so
masked    training of masked language models, ours against fairseq's roberta; only when asked for
finetune  training of classifiers of sentences, likewise, on batches with padding; only when asked for
rotation  its share of a training step, by taking it out of the same model
profile   what a training step of both spends its time on, by torch's profiler, which slows it; only when asked for
tricks    what each of the package's ways to be fast on a CPU is worth, by switching it off alone; only when asked for
"""

from benchmarks.model import options
from benchmarks.model.session import measure
from fairseq_rope_data.errors import run


def main() -> None:
    measure(options.read(__doc__))


if __name__ == "__main__":
    run("benchmark", main)
