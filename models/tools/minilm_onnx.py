"""Makes model.onnx of a BERT encoder's model.safetensors, such as all-MiniLM-L6-v2, without torch.

usage: pip install onnx safetensors numpy; python minilm_onnx.py FOLDER OUT

FOLDER holds model.safetensors, config.json and tokenizer.json; OUT gets model.onnx and tokenizer.json: what `loci` takes
as a model folder. Inputs: input_ids, attention_mask, token_type_ids [batch, tokens]; output: last_hidden_state.
"""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper, save
from safetensors.numpy import load_file


def main(folder: Path, out: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    weights = load_file(folder / "model.safetensors")
    hidden, heads = config["hidden_size"], config["num_attention_heads"]
    width, epsilon = hidden // heads, config["layer_norm_eps"]
    initializers, nodes = [], []

    def constant(name, array):
        initializers.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def weight(name):
        return constant(name, weights[name].astype(np.float32))

    def node(kind, inputs, output, **attributes):
        nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def dense(x, prefix, output):
        matrix = constant(prefix + ".weight.T", weights[prefix + ".weight"].astype(np.float32).T)
        product = node("MatMul", [x, matrix], output + ".product")
        return node("Add", [product, weight(prefix + ".bias")], output)

    def norm(x, prefix, output):
        inputs = [x, weight(prefix + ".weight"), weight(prefix + ".bias")]
        return node("LayerNormalization", inputs, output, axis=-1, epsilon=epsilon)

    # What is added up: words, places, kinds.
    words = node("Gather", [weight("embeddings.word_embeddings.weight"), "input_ids"], "words")
    kinds = node("Gather", [weight("embeddings.token_type_embeddings.weight"), "token_type_ids"], "kinds")
    zero, one = constant("zero", np.array(0, np.int64)), constant("one", np.array(1, np.int64))
    length = node("Gather", [node("Shape", ["input_ids"], "shape"), one], "length")
    places = node("Range", [zero, length, one], "places")
    places = node("Gather", [weight("embeddings.position_embeddings.weight"), places], "placed")
    x = node("Add", [node("Add", [words, kinds], "sum.0"), places], "sum.1")
    x = norm(x, "embeddings.LayerNorm", "embedded")

    # 0 where there is a token, very small where there is none.
    axes = constant("axes", np.array([1, 2], np.int64))
    mask = node("Unsqueeze", ["attention_mask", axes], "mask.4")
    mask = node("Cast", [mask], "mask.f", to=TensorProto.FLOAT)
    away = node("Sub", [constant("one.f", np.array(1, np.float32)), mask], "mask.away")
    mask = node("Mul", [away, constant("small", np.array(-10000.0, np.float32))], "mask")

    split = constant("split", np.array([0, 0, heads, width], np.int64))
    join = constant("join", np.array([0, 0, hidden], np.int64))
    scale = constant("scale", np.array(1.0 / np.sqrt(width), np.float32))
    root, half = constant("root", np.array(np.sqrt(2.0), np.float32)), constant("half", np.array(0.5, np.float32))
    for layer in range(config["num_hidden_layers"]):
        at = f"encoder.layer.{layer}"

        def head(what, permutation):
            y = dense(x, f"{at}.attention.self.{what}", f"{at}.{what}")
            y = node("Reshape", [y, split], f"{at}.{what}.split")
            return node("Transpose", [y], f"{at}.{what}.heads", perm=permutation)

        query, key = head("query", [0, 2, 1, 3]), head("key", [0, 2, 3, 1])
        value = head("value", [0, 2, 1, 3])
        scores = node("Mul", [node("MatMul", [query, key], f"{at}.dots"), scale], f"{at}.scaled")
        scores = node("Softmax", [node("Add", [scores, mask], f"{at}.masked")], f"{at}.shares", axis=-1)
        mixed = node("MatMul", [scores, value], f"{at}.mixed")
        mixed = node("Transpose", [mixed], f"{at}.mixed.back", perm=[0, 2, 1, 3])
        mixed = node("Reshape", [mixed, join], f"{at}.mixed.joined")
        mixed = dense(mixed, f"{at}.attention.output.dense", f"{at}.attended")
        x = norm(node("Add", [mixed, x], f"{at}.residual"), f"{at}.attention.output.LayerNorm", f"{at}.attention")
        wide = dense(x, f"{at}.intermediate.dense", f"{at}.wide")
        bent = node("Erf", [node("Div", [wide, root], f"{at}.wide.scaled")], f"{at}.erf")
        bent = node("Add", [bent, constant(f"{at}.one", np.array(1, np.float32))], f"{at}.erf.1")
        wide = node("Mul", [node("Mul", [wide, bent], f"{at}.gelu.2"), half], f"{at}.gelu")
        narrow = dense(wide, f"{at}.output.dense", f"{at}.narrow")
        x = norm(node("Add", [narrow, x], f"{at}.residual.1"), f"{at}.output.LayerNorm", f"{at}.out")
    node("Identity", [x], "last_hidden_state")

    tokens = ["batch", "tokens"]
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, tokens)
        for name in ("input_ids", "attention_mask", "token_type_ids")
    ]
    outputs = [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, tokens + [hidden])]
    unique = {tensor.name: tensor for tensor in initializers}
    graph = helper.make_graph(nodes, "encoder", inputs, outputs, list(unique.values()))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    checker.check_model(model)
    out.mkdir(parents=True, exist_ok=True)
    save(model, out / "model.onnx")
    shutil.copy(folder / "tokenizer.json", out / "tokenizer.json")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
