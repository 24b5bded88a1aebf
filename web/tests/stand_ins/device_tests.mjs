// Stands for the test program (device_tests) where a test is about the page: a few cases that pass, one that fails, and a device that
// can be lost, which makes the case that runs then fail, as it does with the program.
const suites = { Op_add: ['plain', 'views', 'wrong', 'empty'], Op_softmax: ['rows', 'columns', 'mask', 'sinks'] };

export default async function make({ print, onDevice }) {
  let lost = false, told;
  const gone = new Promise(resolve => { told = resolve; });
  onDevice({ lost: gone, destroy() {
    lost = true;
    setTimeout(() => told({ message: 'taken away for a test' }), 20);
  } });
  return {
    FS: { readFile: () => '{}' },
    async callMain(options) {
      if (options.includes('--gtest_list_tests')) {
        for (const [suite, cases] of Object.entries(suites)) [`${suite}.`, ...cases.map(name => `  ${name}  # told`)].forEach(line => print(line));
        return 0;
      }
      for (const name of options.find(option => option.startsWith('--gtest_filter=')).slice('--gtest_filter='.length).split(':')) {
        print(`[ RUN      ] ${name}`);
        await new Promise(resolve => setTimeout(resolve, 60));
        const bad = lost || name === 'Op_add.wrong';
        if (bad) print(lost ? 'the device is lost' : 'element 3: got 1, expected 2');
        print(bad ? `[  FAILED  ] ${name} (60 ms)` : `[       OK ] ${name} (60 ms)`);
      }
      return 1;
    },
  };
}
