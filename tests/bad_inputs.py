"""Bad input, one row for each kind: what is typed, and what the one line must hold.

`{here}` stands for a folder that holds FILES, an empty folder `nothing`, and two files of bytes.
"""

PROBLEM = """\
import torch

height = 4

class Model(torch.nn.Module):
    def forward(self, x):
        return x + 1

def get_inputs():
    return [torch.rand(height, 4)]

def get_init_inputs():
    return []
"""
FILES = {
    "list.yaml": "- trials\n- 5\n",
    "text.yaml": "trials\n",
    "empty.yaml": "",
    "tag.yaml": "trials: !!python/name:os.system 5\n",
    "open.yaml": "trials: [1\n",
    "twice.yaml": "trials: 1\ntrials: 2\n",
    "alias.yaml": "trials: &n 5\nchecks: *n\n",
    "float.yaml": "trials: 1e2\n",
    "no.yaml": "trials: no\n",
    "clock.yaml": "trials: 12:30\n",
    "nothing.yaml": "trials:\n",
    "zero.yaml": "trials: 0\n",
    "word.yaml": "trials: many\n",
    "nan.yaml": "deadlines_s: {load: .nan}\n",
    "key.yaml": "trails: 5\n",
    "nested.yaml": "deadlines_s: {lode: 5}\n",
    "class.yaml": "class: fp8\n",
    "axis.yaml": "set: {heigth: 4}\n",
    "problem.yaml": "problems: [1/88]\n",
    "solution.yaml": "solutions: [eagr]\n",
    "size.yaml": "sizes: [smok]\n",
    "device.yaml": "device: gpu\n",
    "broken.py": "class Model(:\n",
    "no_model.py": "height = 4\n",
    "a_file": "here stands a file",
    "good.py": PROBLEM,
}

# name -> (arguments after `run`, what the line must hold)
RUN = {
    # the command line itself
    "an unknown flag": ("--trails 5", "'--trails'; wanted an option; did you mean '--trials'?"),
    "an unknown short flag": ("-x", "'-x'; wanted an option"),
    "a flag without its value": ("--trials", "--trials: found no value; wanted one: timed calls"),
    "a value for a switch": ("--json=3", "--json: found a value; wanted none"),
    "two configs": ("a.yaml b.yaml", "extra argument(s) (b.yaml); wanted no more than CONFIG"),
    # names
    "an unknown problem": ("--problem 87_conv_pointwise_2", "did you mean '87_conv_pointwise_2D'?"),
    "an unknown number": ("--problem 1/88", "--problem: found '1/88'; wanted a problem's name"),
    "a problem's file that is not there": ("--problem {here}/nowhere.py", "nowhere.py'; wanted"),
    "a folder without problems": ("--problem {here}/nothing", "without a Python file; wanted"),
    "a named problem that does not parse": (
        "--problem {here}/broken.py",
        "broken.py: found line 1: invalid syntax; wanted Python that parses",
    ),
    "a named problem without Model": (
        "--problem {here}/no_model.py",
        "no_model.py: found no Model; wanted a class Model",
    ),
    "no problem": (
        "--problem ''",
        "--problem: problems.0: found ''; wanted text that is not empty",
    ),
    "an unknown solution": (
        "--solution eagr",
        "--solution: found 'eagr'; wanted a solution of 87_conv_pointwise_2D, a file or a folder; "
        "did you mean 'eager'?",
    ),
    "a solution's file that is not there": ("--solution {here}/k.py", "k.py'; wanted a solution"),
    "a folder without solutions": ("--solution {here}/nothing", "wanted a folder of solutions"),
    "no solution": ("--solution ''", "--solution: solutions.0: found ''"),
    "an unknown baseline": ("-o baseline=eagr", "baseline: found 'eagr'; wanted"),
    "an unknown size": (
        "--size smok",
        "--size: found 'smok'; wanted a size of 87_conv_pointwise_2D; did you mean 'smoke'?",
    ),
    "a size that a foreign file lacks": (
        "--problem {here}/good.py --size smoke",
        "--size: found 'smoke'; wanted a size of good; valid: full",
    ),
    "no size": ("--size ''", "--size: sizes.0: found ''"),
    "an unknown device": (
        "--device cudda",
        "--device: device: found 'cudda'; wanted auto, cpu, cuda or cuda:N; did you mean 'cuda'?",
    ),
    "a device without a number": ("--device cuda:x", "found 'cuda:x'; wanted auto, cpu, cuda"),
    "a device that is not there": ("--device cuda:99", "--device: found cuda:99; wanted"),
    "no device": ("--device ''", "--device: device: found ''"),
    # numbers
    "zero trials": ("--trials 0", "--trials: trials: found 0; wanted at least 1"),
    "negative trials": ("--trials -3", "--trials: trials: found -3; wanted at least 1"),
    "too many trials": ("--trials 99999999", "found 99999999; wanted at most 100000"),
    "text for trials": ("--trials many", "--trials: trials: found 'many'; wanted a whole number"),
    "NaN for trials": ("--trials nan", "--trials: trials: found 'nan'; wanted a whole number"),
    "a float for trials": ("--trials 1.5", "--trials: trials: found 1.5; wanted a whole number"),
    "1e2 for trials": ("--trials 1e2", "--trials: trials: found 100.0; wanted a whole number"),
    "no for trials": ("--trials no", "--trials: trials: found 'no'; wanted a whole number"),
    "a clock for trials": ("--trials 12:30", "found '12:30'; wanted a whole number"),
    "nothing for trials": ("--trials ''", "--trials: trials: found nothing; wanted"),
    "a list for trials": ("--trials [1]", "--trials: trials: found [1]; wanted a whole number"),
    "NaN for a deadline": ("-o deadlines_s.load=nan", "deadlines_s.load: found 'nan'; wanted a"),
    "a zero deadline": ("-o deadlines_s.load=0", "deadlines_s.load: found 0; wanted above 0"),
    "zero checks": ("-o checks=0", "-o: checks: found 0; wanted at least 1"),
    # axes
    "an unknown axis": (
        "--set heigth=4",
        "--set: heigth: found an unknown axis; did you mean 'height'?",
    ),
    "an axis of a foreign file": (
        "--problem {here}/good.py --set width=4",
        "--set: width: found an unknown axis; valid: height",
    ),
    "a zero axis": (
        "--set height=0",
        "--set: height: found 0; wanted a whole number of at least 1",
    ),
    "a negative axis": ("--set height=-4", "--set: height: found -4; wanted a whole number"),
    "text for an axis": ("--set height=tall", "--set: height: found 'tall'; wanted a whole number"),
    "NaN for an axis": ("--set height=nan", "--set: height: found 'nan'; wanted a whole number"),
    "a float for an axis": ("--set height=1.5", "--set: height: found 1.5; wanted a whole number"),
    "a truth for an axis": ("--set height=true", "--set: height: found True; wanted a whole"),
    "an axis beyond 2^53": ("--set height=99999999999999999999", "a whole number below 2^53"),
    "nothing for an axis": ("--set height=", "--set: set.height: found nothing; wanted"),
    "an axis without =": ("--set height", "--set: found 'height'; wanted AXIS=VALUE"),
    "a value without an axis": ("--set =4", "--set: found '=4'; wanted AXIS=VALUE"),
    # any key
    "an unknown key": ("-o trails=5", "-o: trails: found an unknown key; did you mean 'trials'?"),
    "an unknown nested key": (
        "-o deadlines_s.lode=5",
        "deadlines_s.lode: found an unknown key; did",
    ),
    "a key below a number": ("-o trials.x=3", "-o: trials.x: found a nested key; wanted trials"),
    "a mapping for a number": (
        "-o trials={{a:\\ 1}}",
        "-o: trials: found a mapping; wanted a whole",
    ),
    "a number for a mapping": ("-o deadlines_s=5", "-o: deadlines_s: found 5; wanted a mapping"),
    "no = in an option": ("-o trials", "-o: found 'trials'; wanted KEY=VALUE"),
    "an unknown class": ("-o class=fp8", "-o: class: found 'fp8'; wanted 'auto', 'fp32', 'tf32'"),
    "an unknown dtype": ("-o dtype=fp64", "-o: dtype: found 'fp64'; wanted"),
    "an empty list": ("-o problems=[]", "-o: problems: found []; wanted a list that is not empty"),
    "a tag in an option": ("-o 'trials=!!int 3'", "the tag tag:yaml.org,2002:int; wanted a plain"),
    "an executor that is not there": ("-o executor=ray", "executor: found ray; wanted local"),
    "pairs, which are not there": ("-o pairing=abba", "pairing: found abba; wanted auto or off"),
    "walls that do not stand": ("-o isolation=strict", "isolation: found strict, without"),
    # configs
    "a config that is not there": (
        "configs/defualt.yaml",
        "configs/defualt.yaml: found no such file; wanted a config file; "
        "did you mean 'configs/default.yaml'?",
    ),
    "a config that is a list": ("{here}/list.yaml", "list.yaml: found a list; wanted a mapping"),
    "a config that is a word": ("{here}/text.yaml", "text.yaml: found 'trials'; wanted a mapping"),
    "a config that is empty": ("{here}/empty.yaml", "empty.yaml: found nothing; wanted a mapping"),
    "a config that is a folder": ("{here}", "found a folder; wanted a readable file"),
    "a config that is no text": ("{here}/bytes.yaml", "found byte 0; wanted text in UTF-8"),
    "a config with a tag": ("{here}/tag.yaml", "tag.yaml: line 1, column 9: found the tag"),
    "a config that does not parse": ("{here}/open.yaml", "open.yaml: line 2, column 1: found"),
    "a config with a key twice": (
        "{here}/twice.yaml",
        "the key 'trials' twice; wanted each key once",
    ),
    "a config with an anchor": ("{here}/alias.yaml", "found the anchor &n; wanted a plain value"),
    "a config with 1e2": ("{here}/float.yaml", "trials: found 100.0; wanted a whole number"),
    "a config with no": ("{here}/no.yaml", "trials: found 'no'; wanted a whole number"),
    "a config with 12:30": ("{here}/clock.yaml", "trials: found '12:30'; wanted a whole number"),
    "a config with nothing": (
        "{here}/nothing.yaml",
        "trials: found nothing; wanted a whole number",
    ),
    "a config with zero trials": (
        "{here}/zero.yaml",
        "zero.yaml: trials: found 0; wanted at least 1",
    ),
    "a config with a word": ("{here}/word.yaml", "word.yaml: trials: found 'many'; wanted a whole"),
    "a config with NaN": ("{here}/nan.yaml", "deadlines_s.load: found '.nan'; wanted a number"),
    "a config with an unknown key": (
        "{here}/key.yaml",
        "key.yaml: trails: found an unknown key; did you mean 'trials'?",
    ),
    "a config with an unknown nested key": ("{here}/nested.yaml", "did you mean 'load'?"),
    "a config with an unknown class": (
        "{here}/class.yaml",
        "class.yaml: class: found 'fp8'; wanted",
    ),
    "a config with an unknown axis": ("{here}/axis.yaml", "heigth: found an unknown axis; did you"),
    "a config with an unknown problem": ("{here}/problem.yaml", "found '1/88'; wanted a problem's"),
    "a config with an unknown solution": (
        "{here}/solution.yaml",
        "found 'eagr'; wanted a solution",
    ),
    "a config with an unknown size": ("{here}/size.yaml", "found 'smok'; wanted a size of"),
    "a config with an unknown device": (
        "{here}/device.yaml",
        "device: found 'gpu'; wanted auto, cpu",
    ),
    "a wrong config that an option would mend": (
        "{here}/zero.yaml --trials 5",
        "zero.yaml: trials: found 0; wanted at least 1",
    ),
    # folders
    "a run to go on with that is not there": (
        "--resume nowhere",
        "--resume: found 'nowhere'; wanted the folder of a run",
    ),
    "a folder that is no run": ("--resume {here}/nothing", "nothing'; wanted the folder of a run"),
    "no run to go on with": ("--resume ''", "--resume: found ''; wanted the folder of a run"),
    "no results folder": ("--out ''", "--out: out: found ''; wanted text that is not empty"),
}

# The tests may run as root, whom no permission bits stop: a file and /proc stop everybody.
UNWRITABLE = {
    "a results folder below a file": "{here}/a_file/results",
    "a results folder that is a file": "{here}/a_file",
    "a results folder in /proc": "/proc/results",
}

OTHER = {
    "an unknown command": (
        "leaderbord",
        "'leaderbord'; wanted a command; did you mean 'leaderboard'?",
    ),
    "a command without a name": ("''", "run_eval.py: found ''; wanted a command; valid: run"),
    "an option before its command": (
        "--trials 5",
        "'--trials'; wanted a command before its options",
    ),
    "a leaderboard of an unknown problem": (
        "leaderboard --problem 1/88",
        "--problem: found '1/88'",
    ),
    "a leaderboard of an unknown class": (
        "leaderboard --class tf23",
        "--class: found 'tf23'; wanted fp32 or tf32 or fp16 or bf16; did you mean 'tf32'?",
    ),
    "a leaderboard of no class": ("leaderboard --class ''", "--class: found ''; wanted fp32"),
    "a leaderboard of unknown hardware": (
        "leaderboard --hardware H999",
        "--hardware: found 'H999'; wanted a device that has records, or a row of",
    ),
    "a leaderboard of no hardware": ("leaderboard --hardware ''", "--hardware: found ''; wanted"),
    "a CSV in no folder": ("leaderboard --csv {here}/none/a.csv", "a.csv: found No such file"),
    "a CSV that is a folder": ("leaderboard --csv {here}", "found Is a directory; wanted a file"),
    "a Markdown file in /proc": ("leaderboard --md /proc/a.md", "/proc/a.md: found"),
    "a leaderboard with an argument": ("leaderboard x", "leaderboard: found extra argument(s) (x)"),
    "a floor of nothing": ("floor", "run_eval.py floor: PROBLEM: found nothing; wanted a problem"),
    "a floor of an unknown problem": (
        "floor 1/88",
        "PROBLEM: found '1/88'; wanted a problem's name",
    ),
    "a floor of a folder": ("floor problems --hardware H200", "5 problems; wanted one"),
    "a floor of a file that does not parse": (
        "floor {here}/broken.py --hardware H200",
        "broken.py: found line 1: invalid syntax",
    ),
    "a floor of a problem that raises": (
        "floor {here}/raises.py --hardware H200",
        "raises.py: found",
    ),
    "a floor at an unknown size": (
        "floor 1/87 --size smok --hardware H200",
        "did you mean 'smoke'?",
    ),
    "a floor on unknown hardware": (
        "floor 1/87 --hardware H20O",
        "--hardware: found 'H20O'; wanted a row of harness/spec/hardware.yaml; did you mean 'H200'",
    ),
    "a floor on ambiguous hardware": (
        "floor 1/87 --hardware H1",
        "--hardware: found 'H1', which fits 3 rows; wanted one of H100 SXM, H100 PCIe, H100 NVL",
    ),
    "a floor on no hardware": ("floor 1/87 --hardware ''", "--hardware: found ''; wanted a row of"),
    "a floor of an unknown class": ("floor 1/87 --class fp8", "--class: found 'fp8'; wanted fp32"),
    "a floor by an unknown policy": (
        "floor 1/87 --policy headroom-v2",
        "--policy: found 'headroom-v2'; wanted complete-v2 or headroom-v1; did you mean",
    ),
    "a list of nothing": (
        "list",
        "run_eval.py list: WHAT: found nothing; wanted problems, solutions",
    ),
    "a list of what there is not": ("list problem", "list: found 'problem'; wanted problems or"),
}
