//! Java and its like: Maven's `pom.xml`, Gradle's `build.gradle`.
//!
//! Of these files only a few words are looked for: a version between two tags, the name of a plugin. That needs no parser of XML, which would bring entities
//! and their bombs along, and none of Groovy, which is a language of its own. What is not found has a default.

use crate::detect::Sign;
use crate::draft::{APP, BUILD, Draft};
use crate::error::Result;
use crate::images::Base;
use crate::kind::Kind;
use crate::manifest::{first_line, tool_version};
use crate::plan::Plan;
use crate::source::Source;
use crate::text::between;
use crate::version::Lines;
use crate::wishes::Wishes;

const POM: &str = "pom.xml";
const GRADLE: [&str; 2] = ["build.gradle.kts", "build.gradle"];
const SETTINGS: [&str; 2] = ["settings.gradle.kts", "settings.gradle"];
const LINES: Lines = Lines { language: "Java", default: "21", all: &["25", "21", "17", "11", "8"] };
const PORT: u16 = 8080;
const JAR: &str = "/out/app.jar";

pub fn find(source: &Source) -> Result<Option<Sign>> {
    if source.has_file(POM) {
        return Ok(Some(Sign { file: POM, found: "it is a project of Maven".to_owned(), is_sure: true }));
    }
    let file = source.first_file(&[GRADLE[0], GRADLE[1], SETTINGS[0], SETTINGS[1]]);
    Ok(file.map(|file| Sign { file, found: "it is a project of Gradle".to_owned(), is_sure: true }))
}

pub fn plan(source: &Source, wishes: &Wishes) -> Result<Plan> {
    if source.has_file(POM) { maven(source, wishes) } else { gradle(source, wishes) }
}

/// How frameworks are found, and told the port.
struct Framework {
    name: &'static str,
    word: &'static str,
    port: &'static str,
}

const FRAMEWORKS: [Framework; 3] = [
    Framework { name: "Spring Boot", word: "spring-boot", port: "-Dserver.port=$PORT" },
    Framework { name: "Quarkus", word: "quarkus", port: "-Dquarkus.http.port=$PORT" },
    Framework { name: "Micronaut", word: "micronaut", port: "-Dmicronaut.server.port=$PORT" },
];

fn framework(draft: &mut Draft<'_>, text: &str, file: &str) -> Option<&'static Framework> {
    let text = text.to_ascii_lowercase().replace("springframework.boot", "spring-boot");
    let found = FRAMEWORKS.iter().find(|framework| text.contains(framework.word))?;
    draft.plan.framework = Some(found.name);
    draft.because(format!("it names {}", found.name), file);
    Some(found)
}

fn maven(source: &Source, wishes: &Wishes) -> Result<Plan> {
    let mut draft = Draft::new(Kind::Java, source, wishes)?;
    let pom = source.text(POM)?.unwrap_or_default();
    draft.plan.package_manager = Some("maven");
    draft.because("it is a project of Maven", POM);
    let tags = ["maven.compiler.release", "java.version", "maven.compiler.target", "release", "maven.compiler.source"];
    let written = tags.iter().find_map(|tag| between(&pom, &format!("<{tag}>"), &format!("</{tag}>")));
    let version = version(&mut draft, POM, written.map(str::to_owned))?;
    let framework = framework(&mut draft, &pom, POM);
    if pom.contains("<modules>") && wishes.program.is_none() {
        draft.warn("The project has modules, and the one whose jar starts is not known: all are built.");
    }
    draft.port(PORT);
    draft.add_assets()?;
    let module = wishes.program.as_deref().filter(|program| *program != ".");
    let only = module.map(|module| format!(" -pl {module} -am")).unwrap_or_default();
    let build = draft.build(Some(format!("mvn -B -DskipTests{only} package")));
    let install = draft.install(None);
    let mut stage = draft.build_stage(Base::Maven, &version);
    draft.copy_source(&mut stage);
    for command in [install, build].into_iter().flatten() {
        stage.run_with_secrets(&["/root/.m2"], command);
    }
    let target = module.map_or_else(|| "target".to_owned(), |module| format!("{module}/target"));
    let is_quarkus = framework.is_some_and(|framework| framework.name == "Quarkus");
    let (take, jar) = take_jar(&target, is_quarkus);
    stage.run(&[], take);
    finish(draft, stage, &version, framework, jar)
}

/// One jar that starts: not those with sources or documents, and not what a plugin has kept of before.
fn take_jar(folder: &str, is_quarkus: bool) -> (String, &'static str) {
    if is_quarkus {
        return (format!("mkdir -p /out && cp -r {folder}/quarkus-app/. /out/"), "quarkus-run.jar");
    }
    let find = format!(
        "find {folder} -maxdepth 1 -name '*.jar' ! -name '*-sources.jar' ! -name '*-javadoc.jar' ! -name '*-plain.jar' \
         ! -name 'original-*.jar' ! -name '*-tests.jar'"
    );
    let check = "[ \"$(echo \"$jars\" | wc -l)\" = 1 ] && [ -n \"$jars\" ]";
    let complain = format!("{{ echo \"There must be one jar in {folder}: $jars\" >&2; exit 1; }}");
    (format!("jars=$({find}); {check} || {complain}; mkdir -p /out && cp \"$jars\" {JAR}"), "app.jar")
}

fn gradle(source: &Source, wishes: &Wishes) -> Result<Plan> {
    let mut draft = Draft::new(Kind::Java, source, wishes)?;
    draft.plan.package_manager = Some("gradle");
    let module = wishes.program.clone().filter(|program| program != ".");
    // A project of modules often has its only application in a folder `app`.
    let module =
        module.or_else(|| GRADLE.iter().any(|file| source.has_file(&format!("app/{file}"))).then(|| "app".to_owned()));
    let folder = module.clone().map(|module| format!("{module}/")).unwrap_or_default();
    let files = [
        GRADLE[0].to_owned(),
        GRADLE[1].to_owned(),
        format!("{folder}{}", GRADLE[0]),
        format!("{folder}{}", GRADLE[1]),
    ];
    let file = files.into_iter().find(|file| source.has_file(file));
    let file = file.unwrap_or_else(|| source.first_file(&SETTINGS).unwrap_or(GRADLE[1]).to_owned());
    let file = file.as_str();
    draft.because("it is a project of Gradle", file);
    let mut text = String::new();
    for name in GRADLE {
        text += &source.text(name)?.unwrap_or_default();
        text += &source.text(&format!("{folder}{name}"))?.unwrap_or_default();
    }
    let version = version(&mut draft, file, gradle_version(&text))?;
    let framework = framework(&mut draft, &text, file);
    draft.port(PORT);
    draft.add_assets()?;
    let has_wrapper = source.has_file("gradlew") && source.has_file("gradle/wrapper/gradle-wrapper.properties");
    let (base, program) = if has_wrapper { (Base::JavaBuild, "sh ./gradlew") } else { (Base::Gradle, "gradle") };
    if has_wrapper {
        draft.because("it brings the version of Gradle that it needs", "gradlew");
    }
    let prefix = module.as_deref().map(|module| format!(":{}:", module.replace('/', ":"))).unwrap_or_default();
    let runs_plugin = text.contains("application") && framework.is_none();
    let task = match framework.map(|framework| framework.name) {
        Some("Spring Boot") => "bootJar",
        Some("Quarkus") => "quarkusBuild",
        _ if runs_plugin => "installDist",
        _ => "jar",
    };
    let build = draft.build(Some(format!("{program} --no-daemon {prefix}{task}")));
    let install = draft.install(None);
    let mut stage = draft.build_stage(base, &version);
    stage.environment(&[("GRADLE_USER_HOME", "/root/.gradle")]);
    draft.copy_source(&mut stage);
    for command in [install, build].into_iter().flatten() {
        stage.run_with_secrets(&["/root/.gradle"], command);
    }
    if runs_plugin {
        // The plugin names the program like the project; here it has one name.
        stage.run(&[], format!("mkdir -p /out && cp -r {folder}build/install/*/. /out/ && rm -f /out/bin/*.bat && mv /out/bin/* /out/bin/app"));
        let mut run = draft.run_stage(Base::Java, &version);
        run.own_folder(APP).copy_writable(BUILD, "/out", "./");
        let start = draft.start(Some("/app/bin/app".to_owned()), "")?;
        return Ok(draft.serve(Some(stage), run, &start));
    }
    let is_quarkus = framework.is_some_and(|framework| framework.name == "Quarkus");
    let libraries = if is_quarkus { format!("{folder}build") } else { format!("{folder}build/libs") };
    let (take, jar) = take_jar(&libraries, is_quarkus);
    stage.run(&[], take);
    finish(draft, stage, &version, framework, jar)
}

fn finish(
    mut draft: Draft<'_>,
    stage: crate::dockerfile::Stage,
    version: &str,
    framework: Option<&Framework>,
    jar: &str,
) -> Result<Plan> {
    let mut run = draft.run_stage(Base::Java, version);
    run.own_folder(APP).copy_writable(BUILD, "/out", "./");
    let port = framework.map(|framework| format!("{} ", framework.port)).unwrap_or_default();
    let start = draft.start(Some(format!("java -XX:MaxRAMPercentage=75 {port}-jar {jar}")), "")?;
    Ok(draft.serve(Some(stage), run, &start))
}

/// `JavaLanguageVersion.of(21)`, `jvmToolchain(21)`, `sourceCompatibility = '17'`, `JavaVersion.VERSION_17`.
fn gradle_version(text: &str) -> Option<String> {
    ["JavaLanguageVersion.of(", "jvmToolchain(", "JavaVersion.VERSION_", "sourceCompatibility"].iter().find_map(
        |word| {
            let (_, rest) = text.split_once(word)?;
            let rest = rest.trim_start_matches([' ', '=', '"', '\'', '(']);
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            Some(digits).filter(|digits| !digits.is_empty())
        },
    )
}

fn version(draft: &mut Draft<'_>, file: &str, written: Option<String>) -> Result<String> {
    let source = draft.source;
    let mut asked: Vec<(String, String)> = Vec::new();
    asked.extend(first_line(source, ".java-version")?);
    let tool = tool_version(source, &["java"])?;
    let digits = |text: &str| text.chars().skip_while(|c| !c.is_ascii_digit()).collect::<String>();
    asked.extend(tool.map(|(file, version)| (file, digits(&version))));
    let written = written
        .map(|version| version.trim().trim_start_matches("1.8").to_owned())
        .map(|version| if version.is_empty() { "8".to_owned() } else { version });
    asked.extend(written.filter(|version| !version.starts_with('$')).map(|version| (source.path(file), version)));
    Ok(draft.version(&LINES, &asked))
}
