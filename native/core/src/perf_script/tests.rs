use super::*;

fn import_text(text: &str) -> Result<(Profile, Facts), ReadError> {
    read(Lines::new(text.as_bytes()).expect("text can be read"))
}

fn profile(text: &str) -> (Profile, Facts) {
    import_text(text).unwrap_or_else(|error| panic!("{error}"))
}

/// `comm:a;b` of every sample.
fn stacks(profile: &Profile) -> Vec<String> {
    let samples = &profile.samples;
    let of = |index: usize| {
        let row = &profile.stacks.rows()[samples.stack[index] as usize];
        let labels: Vec<String> = row.iter().map(|&frame| profile.frames[frame as usize].label()).collect();
        format!("{}:{}", profile.tasks[samples.task[index] as usize].comm, labels.join(";"))
    };
    (0..samples.time.len()).map(of).collect()
}

const TWO: &str = "\
# ========
# hostname : vm
# ========
#
sleep  6604 [000]  6171.340024:    1001001 cpu-clock:ppp: 
\t           1462a handle_amd+0xa (/usr/lib/ld.so)
\t               0 [unknown] ([unknown])

swapper     0 [001]  6171.341030:    1001001 cpu-clock:ppp: 
\tffffffff821f1eab pv_native_safe_halt+0xb ([kernel.kallsyms])
\tffffffff821f39b5 default_idle+0x5 ([kernel.kallsyms])

";

#[test]
fn the_default_output_with_a_header() {
    let (profile, facts) = profile(TWO);
    assert_eq!(stacks(&profile), ["sleep:[unknown];handle_amd", "swapper:default_idle;pv_native_safe_halt"]);
    assert_eq!(profile.samples.time, [6_171_340_024_000, 6_171_341_030_000]);
    assert_eq!(profile.samples.cpu, [0, 1]);
    assert_eq!(profile.events, ["cpu-clock:ppp"]);
    assert_eq!(facts.header.origin.hostname, "vm");
    assert_eq!(facts.gaps.len(), 1, "{:?}", facts.gaps);
    assert!(facts.gaps[0].contains("process"));
}

#[test]
fn samples_are_sorted_and_those_of_one_time_stay_in_order() {
    let (profile, _) =
        profile("a 1 2.000000: x:\n\nb 2 1.000000: y:\n\nc 3 2.000000: x:\n\nd 4 1.000000: x:\n");
    assert_eq!(stacks(&profile), ["b:", "d:", "a:", "c:"]);
    assert_eq!(profile.samples.event, [1, 0, 0, 0]);
    assert_eq!(profile.samples.cpu, [-1; 4]);
}

#[test]
fn threads_take_the_name_of_their_main_thread() {
    let (profile, facts) =
        profile("w 7/8 [0] 1.000000: x:\n\nmain 7/7 [0] 2.000000: x:\n\nw    7/8 [0] 3.000000: x:\n");
    let names: Vec<_> = profile.tasks.iter().map(|task| (task.tid, task.process.as_str())).collect();
    assert_eq!(names, [(8, "main"), (7, "main")]);
    assert!(facts.gaps.is_empty(), "{:?}", facts.gaps);
}

#[test]
fn a_lone_frame_stands_on_the_line_of_its_sample() {
    let (profile, _) = profile(
        "   cc1  9 [001]  1.401410:    1001001   cpu-clock:            ce50a3 f+0x1 (/usr/cc1)
   cc1  9 [001]  1.401411: sched:sched_switch: dead beef (x)
   cc1  9 [001]  1.401412:  ffffffff8161027c g
",
    );
    assert_eq!(stacks(&profile), ["cc1:f", "cc1:", "cc1:g"]);
    assert_eq!(profile.events, ["cpu-clock", "sched:sched_switch", "unnamed"]);
}

#[test]
fn inlined_functions_belong_to_the_module_around_them() {
    let (profile, _) =
        profile("a 1 1.000000: x:\n\t10 in (inlined)\n\t10 out+0x3 (/lib/x.so)\n\t11 last (inlined)\n");
    assert_eq!(stacks(&profile), ["a:last;out;in"]);
    let inner = profile.frames.iter().find(|frame| frame.name == "in").expect("it is there");
    assert_eq!(inner.module, "/lib/x.so");
}

#[test]
fn kernel_log_lines_and_other_records() {
    let (profile, facts) = profile(
        "sh 9 [000] 2.500000: printk:console: hello: a 12
\tffffffff813e2705 printk_sprint+0x95 ([kernel.kallsyms])

sh 9 [000] 2.600000: PERF_RECORD_COMM: sh:9/9
sh 9 [000] 2.600000: PERF_RECORD_FORK(1:1):(0:0)
sh 9 [000] 2.600000: PERF_RECORD_LOST lost 12
",
    );
    assert_eq!(stacks(&profile), ["sh:printk_sprint"]);
    assert_eq!(facts.lines, [Line { time: 2_500_000_000, cpu: 0, text: "hello: a 12".into() }]);
    assert_eq!(facts.lost_records, Some(12));
}

#[test]
fn what_is_not_understood_is_counted_with_its_first_line() {
    let (profile, facts) =
        profile("a 1/1 [0] 1.000000: x:\n\tf.c:12\n\t10 f (/x)\nnonsense\n\n\t11 g (/x)\n");
    assert_eq!(stacks(&profile), ["a:f"]);
    assert_eq!(facts.gaps, ["3 lines were not understood, the first is line 2"]);
}

#[test]
fn a_file_without_samples_is_an_error_that_says_what_is_expected() {
    for text in ["", "\n\n", "# hostname : vm\n", "hello\nworld\n", "\0\u{1}\u{2}", "\t10 f (/x)\n"] {
        let error = import_text(text).expect_err("no sample").to_string();
        assert!(error.contains("perf script"), "{error}");
    }
    assert!(import_text("PERFILE2....").expect_err("binary").to_string().contains("perf.data"));
}

#[test]
fn a_stack_without_end_is_cut() {
    let text = format!("a 1/1 [0] 1.000000: x:\n{}", "\t10 f (/x)\n".repeat(DEEPEST_STACK + 3));
    let (profile, facts) = profile(&text);
    assert_eq!(profile.stacks.rows()[0].len(), DEEPEST_STACK);
    assert!(facts.gaps[0].starts_with("3 frames"), "{:?}", facts.gaps);
}

#[test]
fn no_damage_makes_it_panic() {
    let mut seed = 1_u64;
    let mut random = move |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) as usize % below
    };
    for _ in 0..20_000 {
        let mut bytes = TWO.as_bytes().to_vec();
        for _ in 0..=random(4) {
            let place = random(bytes.len());
            match random(4) {
                0 => bytes[place] = random(256) as u8,
                1 => bytes.truncate(place.max(1)),
                2 => bytes[place] = b"\n\t :;()[]+0x/."[random(14)],
                _ => drop(bytes.drain(place..(place + 1 + random(9)).min(bytes.len() - 1).max(place))),
            }
        }
        let result = read(Lines::new(&bytes[..]).expect("bytes can be read"));
        if let Ok((profile, _)) = result {
            assert_eq!(profile.samples.stack.len(), profile.samples.time.len());
        }
    }
}
