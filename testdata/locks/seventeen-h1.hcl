# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.

provider "registry.opentofu.org/hashicorp/archive" {
  version     = "2.7.0"
  constraints = "~> 2.4"
  hashes = [
    "h1:33qw0sWrYnif79gZQowrJ+BrmbeubXufu/qCnh4XGR4=",
    "h1:7xElDy12P1vZY9XuESkoDskUZu30q3z/rTJvCnpz9Sk=",
    "h1:AwFyL+6gNjvLhxQXdrcpRJNHNMCydZVudmB9Hisr6RU=",
    "h1:BtODLR8XkKfVy5tPpAI435itVx8WSyzYgACsNmVKm9k=",
    "h1:FKdqdy4yKhr8H/jgMZHx56/l/3yaTtoVyxIp4i++bO0=",
    "h1:FmZgS2VY/bdg/FIayyNextvlqHnEnnMxqQiZ1YE9rXc=",
    "h1:IApVNlbtmVeDIxtGA14yTM93jcgsTas02khYV33HwLs=",
    "h1:JI9qOB0LbTXQWuulagJmUaM0i5Cd3E7q5K7SWR76Iys=",
    "h1:MY7zpCOYseGQs81p5Fgbzc8W1XGYtJEVVmMhSNXu75U=",
    "h1:MelDWtfEyodySmway+LcYPnn6ANgA7a8Hl6mZVplJww=",
    "h1:WQ3Q4GevmDGnkdCET7hECA2hKi2w6GBE8ZERVqCy6fE=",
    "h1:aJxJJls+sKEqguNF98BO1g87+zjVAr+wCkm813GcPJ8=",
    "h1:bsliV1yGEqZ4h84F5ZuWwioDozGHz4yICCjKwHzTxa0=",
    "h1:cS4qZtu5qeTVRxnukk2nx0H2VlS8JkkYPGACcTSPelA=",
    "h1:dYxpZ5GLRIeQBTAXgtfBB7Gix/LBYnkeirRuTRiExQc=",
    "h1:eh7MGdEsQvhqos0wpSgQCNqdmnFBn9JgCnoCxcc/qyU=",
    "h1:iAmquvx0d1ifaZxc3dg74MzGPfL6gsclvsQ6k0wrc6k=",
    "zh:08ed8d2f7726b630ceebd2fbbb7934a48dd567781e72ae7ede416420ffbd981b",
    "zh:1c0c5d0d486f52d928b307977c1181ee4d47793d2cdc2b2ffb38ece622fbb0bb",
    "zh:27c223a2124ddbb07c74e47d2052cc2031b52071867cd7e97e57c2757316dafe",
    "zh:36ddcc9d513080b27262fe377dc666260cbaab5da9e8c0d21ea2944137844075",
    "zh:40477ccaaae463c83f6d9c171a732c7238afa12a47e96668356045aeab1002cd",
    "zh:55c6471a279eac9adfcb33dec58fc00ffbed96cd8cca6340b5cf6281489298dc",
    "zh:6b79ebc8ba03071098ffabd8ac2fa8e08c369e2705ca8dd3c45d309db426bc53",
    "zh:725db9af746c810e2880bd87cdc9d9ee55a693e7affe0ac9b144356e344c7abc",
    "zh:8997097816a6c604cdfd0e65ed73344010be88e23600359563a4f24b18e4afa8",
    "zh:937c11fbfd94c35476bb1e3d4648eb73a657383e5f0914a08aaef1145fd7fb2c",
    "zh:d753d7a5329f97223b83008ee88e7cec5ffed283d8d8e3e2d0a4f1d7e6aa28ca",
  ]
}
